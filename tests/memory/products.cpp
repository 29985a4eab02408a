// SPDX-License-Identifier: Apache-2.0
// Allocations of repeated products.
#include <doctest/doctest.h>

#include "libsten/compute/product/bf16_product.h"
#include "tests/memory/counter.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("a repeated bfloat16 product with the same weight allocates nothing") {
  const Threads one(1);
  const Index rows = 200, cols = 300, tokens = 150;
  const Bf16Factor weight(Dense::zeros(DType::BF16, {rows, cols}));
  Array<std::uint16_t> x(interleaved_size(cols, tokens)), y(interleaved_size(rows, tokens));
  Array<float> floats(rows * tokens);
  const auto multiply = [&] {
    weight.multiply(Interleaved{cols, tokens, x.data()}, InterleavedOut{rows, tokens, y.mutate()},
                    {1, nullptr, y.data(), kernels::Activation::gelu});
    weight.multiply(Activations16{ActivationLayout::tokens, cols, tokens, x.data()},
                    ActivationsOut{ActivationLayout::tokens, rows, tokens, floats.mutate()});
  };
  multiply();
  const std::int64_t before = calls;
  multiply();
  CHECK(calls - before == 0);
}
