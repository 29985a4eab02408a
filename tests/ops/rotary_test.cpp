// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding.
#include <doctest/doctest.h>

#include <cmath>

#include "libsten/compute/ops/common/operators.h"
#include "tests/ops/operands.h"

using namespace sten;
using namespace sten::testing;

namespace {

bool near(const Tensor& x, const std::vector<float>& expected) {
  const std::vector<float> v = floats(x.to_dense());
  bool same = v.size() == expected.size();
  for (std::size_t i = 0; same && i < v.size(); ++i) same = std::abs(v[i] - expected[i]) < 1e-6f;
  return same;
}

Tensor rotary(const Tensor& x, const Tensor& positions, const Tensor& frequencies, Index heads) {
  return apply("rotary", {x, positions, frequencies}, Attributes().set("heads", heads));
}

constexpr float quarter = 1.57079633f;  // a quarter turn

}  // namespace

TEST_CASE("rotary rotates features i and i + R/2 of each head by position * frequency") {
  // One token of two heads at position 1: the first pairs make a quarter turn, the others a half.
  const Tensor x = tensor({1, 1, 8}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Tensor f = tensor({2}, {quarter, 2 * quarter});
  CHECK(near(rotary(x, int64s({1}), f, 2), {-3, -2, 1, -4, -7, -6, 5, -8}));
  // At position 0 nothing moves.
  CHECK(near(rotary(x, int64s({0}), f, 2), {1, 2, 3, 4, 5, 6, 7, 8}));
  // Positions of each sequence, or the same for all.
  const Tensor two = concat(std::vector<Tensor>{x, x}, 0);
  CHECK(near(rotary(two, int64s({2, 1}, {0, 1}), f, 2),
             {1, 2, 3, 4, 5, 6, 7, 8, -3, -2, 1, -4, -7, -6, 5, -8}));
  CHECK(near(rotary(two, int64s({1}), f, 2),
             {-3, -2, 1, -4, -7, -6, 5, -8, -3, -2, 1, -4, -7, -6, 5, -8}));
}

TEST_CASE("rotary supports interleaved features, a scale and partial rotation") {
  const Tensor x = tensor({1, 1, 5}, {1, 2, 3, 4, 5}), f = tensor({2}, {quarter, 2 * quarter});
  const auto with = [&](const Tensor& frequencies, const Attributes& a) {
    return apply("rotary", {x, int64s({1}), frequencies}, a);
  };
  CHECK(near(with(f, Attributes().set("interleaved", 1)), {-2, 1, -3, -4, 5}));
  CHECK(near(with(f, Attributes().set("interleaved", 1).set("scale", 2.0)), {-4, 2, -6, -8, 5}));
  // One frequency: two features are rotated, as in GPT-NeoX.
  CHECK(near(with(tensor({1}, {quarter}), {}), {-2, 1, 3, 4, 5}));
}

TEST_CASE("the rotary angle of a large position is a float32 product, as in transformers") {
  const float frequency = 0.1f, angle = 100003.0f * frequency;
  const Tensor y = rotary(tensor({1, 1, 2}, {1, 0}), int64s({100003}), tensor({1}, {frequency}), 1);
  CHECK(near(y, {std::cos(angle), std::sin(angle)}));
}

TEST_CASE("rotary rejects mismatched operands and invalid attributes") {
  const Tensor x = tensor({1, 2, 4}, std::vector<float>(8)), f = tensor({2}, {1, 1});
  const auto error = [](auto&&... in) { return error_of([&] { rotary(in...); }); };
  const Tensor positions = int64s({0, 1});
  CHECK(error(x, positions, f, 3) == "rotary: 4 channels are not divisible by 3 heads");
  CHECK(error(x, positions, f, 2) == "rotary: 2 frequencies rotate 4 features, but a head has 2");
  CHECK(error(x, int64s({0}), f, 1) == "rotary: x is [1, 2, 4] but positions are [1]");
  CHECK(error(x, tensor({2}, {0, 1}), f, 1) == "rotary: positions must be I64 or I32, got F32");
  CHECK(error(tensor({4}, {1, 2, 3, 4}), positions, f, 1) ==
        "rotary: x must be [batch, tokens, channels], got [4]");
  CHECK(error_of([&] {
          apply("rotary", {x, positions, f}, Attributes().set("interleaved", 2));
        }) == "rotary: interleaved must be 0 or 1, got 2");
}
