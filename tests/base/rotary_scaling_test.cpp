// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/rotary_scaling.h"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

using namespace sten;

TEST_CASE(
    "Llama 3 rotary scaling keeps high frequencies, divides low ones and interpolates between") {
  const Llama3Scaling s{8, 1, 4, 8192};
  const auto of_wave = [&](double wave) { return s.multiplier(2 * std::numbers::pi / wave); };
  CHECK(of_wave(2048) == doctest::Approx(1));
  CHECK(of_wave(8192) == doctest::Approx(1.0 / 8));
  CHECK(of_wave(100000) == doctest::Approx(1.0 / 8));
  // 8192 / 3277 is 2.5, halfway between 1 and 4.
  CHECK(of_wave(8192 / 2.5) == doctest::Approx(0.5 / 8 + 0.5));
}

TEST_CASE("the YaRN attention factor is 0.1 log(factor) + 1, or a ratio of two such terms") {
  const double usual = 0.1 * std::log(4.0) + 1;
  CHECK(yarn_attention_factor(4) == doctest::Approx(usual));
  CHECK(yarn_attention_factor(4, 0.5) == doctest::Approx(usual));
  CHECK(yarn_attention_factor(4, 0.5, 2) ==
        doctest::Approx((0.05 * std::log(4.0) + 1) / (0.2 * std::log(4.0) + 1)));
  CHECK(yarn_attention_factor(0.5) == 1);
}
