// SPDX-License-Identifier: Apache-2.0
// Repetition of tensors of any dtype along axes.
#include "libsten/compute/ops/common/broadcast.h"
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/device_walk.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/plain.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/common/strided_copy.h"
#include "libsten/compute/ops/common/sum_axes.h"

namespace sten {
namespace {

// x with further axes that repeat it.
struct Repeated {
  Shape extents;              // of the iteration
  std::vector<bool> repeats;  // axes that repeat
  Shape shape;                // of the output

  void add(Index extent, bool is_repeat) {
    extents.push_back(extent);
    repeats.push_back(is_repeat);
  }
};

Repeated expanded(const std::string& op, const Call& call, const Shape& x) {
  call.attributes.check(op, {"shape"});
  check_inputs(op, call, 2);
  const Shape wanted = list_of(op, call, 1, "shape");
  checked_size(wanted);
  Repeated r;
  r.shape = broadcast_shape(op, x, wanted);
  const std::size_t missing = r.shape.size() - x.size();
  for (std::size_t d = 0; d < r.shape.size(); ++d)
    r.add(r.shape[d], d < missing || x[d - missing] != r.shape[d]);
  return r;
}

Repeated tiled(const std::string& op, const Call& call, const Shape& x) {
  call.attributes.check(op, {"repeats"});
  check_inputs(op, call, 2);
  const std::vector<Index> repeats = list_of(op, call, 1, "repeats");
  if (repeats.size() != x.size())
    fail_usage("{}: x is {} but the repeats are {}", op, to_string(x), to_string(repeats));
  Repeated r;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (repeats[d] < 0) fail_usage("{}: repeats must be >= 0, got {}", op, to_string(repeats));
    r.add(repeats[d], true);
    r.add(x[d], false);
  }
  checked_size(r.extents);
  for (std::size_t d = 0; d < x.size(); ++d) r.shape.push_back(repeats[d] * x[d]);
  return r;
}

Tensor repeat(const Dense& x, const Repeated& r) {
  StridedView from{0, std::vector<Index>(r.extents.size())};
  Index step = 1;
  for (std::size_t d = r.extents.size(); d-- > 0;) {
    if (r.repeats[d]) continue;
    from.steps[d] = step;
    step *= r.extents[d];
  }
  if (size_of(r.extents) == x.size() && x.size() > 0) return Dense{r.shape, x.values};
  Dense y{r.shape, Values::uninitialized(x.dtype(), size_of(r.shape), x.device())};
  strided_copy(r.extents, x.values, from, y.values, StridedView::of(r.extents));
  return y;
}

// The gradient of an element is the sum of those of its copies.
Tensor repeat_grad(const std::string& op, const Dense& dy, const Shape& shape, const Repeated& r) {
  check_gradient(op, dy, r.shape);
  if (dy.device() == Device::cuda) return sum_on_device(op, dy, r.extents, r.repeats, shape);
  return with_real(op, dy.dtype(), [&]<class T>(T) -> Tensor {
    const std::vector<double> sums = sum_axes(dy.values.as<T>().data(), r.extents, r.repeats);
    Dense dx = unwritten<T>(shape);
    T* to = dx.values.mutate<T>().data();
    for (std::size_t i = 0; i < sums.size(); ++i) to[i] = static_cast<T>(sums[i]);
    return dx;
  });
}

using Repeat = Repeated (*)(const std::string& op, const Call& call, const Shape& x);

void add_repeat(Operators& all, const std::string& op, Repeat repeated) {
  add_plain(
      all, op, SavedForBackward::others,
      [=](const Call& call) {
        const Dense& x = call.in[0].as<Dense>();
        return repeat(x, repeated(op, call, x.extents));
      },
      [grad = op + ".grad", repeated](const Call& call) {
        const Shape& shape = input_shape(grad, call, 0);
        return repeat_grad(grad, call.in[0].as<Dense>(), shape, repeated(grad, call, shape));
      },
      Runs::anywhere);
}

}  // namespace

void add_repeats(Operators& all) {
  add_repeat(all, "expand", expanded);
  add_repeat(all, "tile", tiled);
}

}  // namespace sten
