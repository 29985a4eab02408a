// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/tensor/access.h"
#include "libsten/core/tensor/low_floats.h"

using namespace sten;

namespace {

Tensor bf16_matrix(Shape shape, int seed) {
  std::vector<float> v(static_cast<std::size_t>(size_of(shape)));
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = std::sin(static_cast<float>(i * 7 + static_cast<std::size_t>(seed)));
  return rounded_to(DType::BF16, tensor_of(shape, v));
}

// The largest difference from the float32 product of the same values, in units of 2^-8 of it.
double worst_error(const Tensor& got, const Tensor& exact) {
  double worst = 0;
  const auto a = to_vector<float>(widened(got)), b = to_vector<float>(exact);
  for (std::size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, std::abs(a[i] - b[i]) * 256. / std::max(1e-2f, std::abs(b[i])));
  return worst;
}

}  // namespace

TEST_CASE(
    "bfloat16 linear matches the float32 product, rounded once, in any layout and batch size") {
  const Tensor bias = rounded_to(DType::BF16, tensor_of({24}, std::vector<float>(24, 0.5f)));
  for (const char* layout : {"dense", "csr", "nm:n=2,m=4", "nmg:n=1,m=4,g=2", "bitmask"}) {
    const Spec spec = Spec::parse(layout);
    const Spec by = registry().own_sparsifier(spec.name()).empty()
                        ? Spec::parse("magnitude:sparsity=0.5")
                        : spec;
    const Tensor w = registry().prune(bf16_matrix({24, 32}, 1).to_dense(), by, spec);
    for (const Index tokens : {1, 5, 70}) {
      CAPTURE(layout);
      CAPTURE(tokens);
      const Tensor x = bf16_matrix({tokens, 32}, 2);
      const Tensor y = linear(x, w, bias);
      CHECK(y.dtype() == DType::BF16);
      const Tensor exact = linear(widened(x), widened(w).to_dense(), widened(bias));
      CHECK(worst_error(y, exact) <= 1);
    }
  }
}

TEST_CASE("the bfloat16 gradient of x matches float32; a bfloat16 weight gradient is rejected") {
  const Tensor w = registry().prune(bf16_matrix({24, 32}, 1).to_dense(),
                                    Spec::parse("nmg:n=1,m=4,g=2"), Spec::parse("nmg:n=1,m=4,g=2"));
  const Tensor x = bf16_matrix({5, 32}, 2), dy = bf16_matrix({5, 24}, 3);
  const OutFormat* formats[] = {&OutFormat::dense(), nullptr};
  const Tensor in[] = {dy, x, w};
  const Outputs got = run(Name("linear.grad"), {in, formats, Attributes()});
  const Tensor wide[] = {widened(dy), widened(x), widened(w)};
  const Outputs exact = run(Name("linear.grad"), {wide, formats, Attributes()});
  CHECK(worst_error(*got[0], *exact[0]) <= 1);
  const OutFormat* of_weight[] = {&OutFormat::dense(), &OutFormat::dense()};
  CHECK_THROWS_WITH(run(Name("linear.grad"), {in, of_weight, Attributes()}),
                    "linear.grad: weights must be F32 or F64, got BF16");
}
