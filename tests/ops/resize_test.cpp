// SPDX-License-Identifier: Apache-2.0
// resize by scales, as ONNX Runtime and PyTorch compute it in float32.
#include <doctest/doctest.h>

#include "libsten/compute/ops/common/operators.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// 0, 1, 2, ... along one axis, resized by the scale.
std::vector<float> resized_row(Index n, float scale) {
  Dense x = Dense::zeros(DType::F32, {1, n, 1});
  for (Index i = 0; i < n; ++i) x.values.mutate<float>()[i] = static_cast<float>(i);
  const Attributes a = Attributes()
                           .set("scales", static_cast<double>(scale))
                           .set("coordinates", "asymmetric")
                           .set("nearest", "floor");
  return floats(apply("resize", {x}, a).to_dense());
}

}  // namespace

TEST_CASE("resize computes output extents in float32") {
  CHECK(resized_row(10, 0.7F).size() == 7);
  CHECK(resized_row(10, 0.9F).size() == 9);
  CHECK(resized_row(5, 1.4F).size() == 7);
  CHECK(resized_row(10, 2.3F).size() == 23);
}

TEST_CASE("resize computes the nearest element in float32") {
  CHECK(resized_row(6, 1 / 3.0F) == std::vector<float>{0, 3});
  CHECK(resized_row(6, 4 / 3.0F) == std::vector<float>{0, 0, 1, 2, 3, 3, 4, 5});
}
