// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/as_matrix.h"

#include "libsten/core/layout/bcsr.h"
#include "libsten/core/layout/bitmask.h"
#include "libsten/core/layout/compressed.h"
#include "libsten/core/layout/coo.h"
#include "libsten/core/layout/ell.h"
#include "libsten/core/layout/masked.h"
#include "libsten/core/layout/nm.h"
#include "libsten/core/layout/nmgv.h"

namespace sten {
namespace {

template <class... L>
Tensor with_extents(const Tensor& t, const Shape& shape) {
  std::optional<Tensor> made;
  const auto take = [&]<class One>(std::type_identity<One>) {
    if (made || !t.is<One>()) return;
    One other = t.as<One>();
    other.extents = shape;
    made = Tensor(std::move(other));
  };
  (take(std::type_identity<L>()), ...);
  if (!made)
    fail_unsupported("{}: the shape {} has no matrix view", t.layout(), to_string(t.shape()));
  return *std::move(made);
}

Tensor reshaped(const Tensor& t, const Shape& shape) {
  if (t.spec().has("dims")) fail_unsupported("{} with dims= has no other matrix view", t.layout());
  return with_extents<Dense, Masked, Csr, Csc, Coo, Ell, Bitmask, Bcsr, Nm, Nmg, Nmgv>(t, shape);
}

struct Matrix {
  Tensor value;
};
// The positions of the matrix; its values may be other ones.
struct MatrixPositions {
  Tensor matrix;
};

}  // namespace

const Tensor& as_matrix(const Tensor& t) {
  const Shape shape = t.shape();
  if (shape.size() == 2) return t;
  if (shape.size() < 2) fail_unsupported("expected 2 or more axes, got shape {}", to_string(shape));
  const auto make = [&] {
    Index cols = 1;
    for (std::size_t d = 1; d < shape.size(); ++d) cols *= shape[d];
    const auto cached = t.of_positions().get<MatrixPositions>([&] {
      return MatrixPositions{reshaped(t, {shape[0], cols})};
    });
    return Matrix{cached->matrix.with_values(*t.values())};
  };
  return t.derived().get<Matrix>(make)->value;
}

}  // namespace sten
