// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/random.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <set>

using namespace sten;

TEST_CASE("mix_bits matches the published outputs of SplitMix64 with seed 0") {
  static_assert(mix_bits(0) == 0xe220a8397b1dcdafu);
  CHECK(mix_bits(0x9e3779b97f4a7c15u) == 0x6e789e6aa1b965f4u);
  CHECK(mix_bits(2 * 0x9e3779b97f4a7c15u) == 0x06c45d188009454fu);
}

TEST_CASE("random_bits is deterministic and differs between seeds and counters") {
  CHECK(random_bits(1, 5) == random_bits(1, 5));
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 30; ++seed)
    for (std::uint64_t i = 0; i < 30; ++i) seen.insert(random_bits(seed, i));
  CHECK(seen.size() == 900);
}

TEST_CASE("uniform random numbers lie in [0, 1) with even density and no serial correlation") {
  constexpr int n = 100000, bins = 20;
  for (std::uint64_t seed : {0u, 1u, 12345u}) {
    int count[bins] = {};
    double sum = 0, product = 0, last = 0.5;
    for (int i = 0; i < n; ++i) {
      const double u = random_uniform(seed, i);
      if (!(u >= 0 && u < 1)) FAIL_CHECK("outside: " << u);
      ++count[static_cast<int>(u * bins)];
      sum += u - 0.5;
      product += (u - 0.5) * (last - 0.5);
      last = u;
    }
    // Six standard deviations each.
    CHECK(std::abs(sum / n) < 6 * std::sqrt(1.0 / 12 / n));
    CHECK(std::abs(product / n) < 6 * (1.0 / 12) / std::sqrt(n));
    for (int c : count) CHECK(std::abs(c - n / bins) < 6 * std::sqrt(n / bins));
  }
}

TEST_CASE("neighbouring seeds and counters give uncorrelated bits") {
  int by_seed = 0, by_counter = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    by_seed += std::popcount(random_bits(i, 7) ^ random_bits(i + 1, 7));
    by_counter += std::popcount(random_bits(7, i) ^ random_bits(7, i + 1));
  }
  // 64000 fair coins: 32000, standard deviation 126.
  CHECK(std::abs(by_seed - 32000) < 800);
  CHECK(std::abs(by_counter - 32000) < 800);
}

TEST_CASE("seed_for derives a different seed for each name and base seed") {
  CHECK(seed_for(1, "layer.0") == seed_for(1, "layer.0"));
  CHECK(seed_for(1, "layer.0") != seed_for(1, "layer.1"));
  CHECK(seed_for(1, "layer.0") != seed_for(2, "layer.0"));
  CHECK(seed_for(0, "") != seed_for(0, "a"));
}
