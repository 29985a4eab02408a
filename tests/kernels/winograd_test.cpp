// SPDX-License-Identifier: Apache-2.0
#include "kernels/winograd.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "libsten/core/base/random.h"

using namespace sten;
using namespace sten::kernels;

namespace {

using Size = std::int64_t;

std::vector<float> tile_values(std::uint64_t seed, Size n) {
  std::vector<float> x(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(2 * random_uniform(seed, i) - 1);
  return x;
}

constexpr float untouched = 77;

struct TileResults {
  std::vector<float> v, y, z, u, dw;
};

// The results of a table on fixed values; tiles are surrounded by their neighbours' pixels.
TileResults tile_results_of(const WinogradTable& table, Size channels, const TilePart& in,
                            const TilePart& out) {
  const Size row = 11 * channels, plane = channels + 3;
  const auto fresh = [](Size n) {
    return std::vector<float>(static_cast<std::size_t>(n), untouched);
  };
  TileResults r{fresh(36 * plane), fresh(6 * row), fresh(36 * plane), fresh(36 * plane),
                fresh(9 * plane)};
  const std::vector<float> x = tile_values(1, 6 * row), m = tile_values(2, 36 * plane),
                           bias = tile_values(3, channels), w = tile_values(4, 9 * plane);
  table.input(x.data(), row, channels, in, r.v.data(), plane);
  table.output(m.data(), plane, channels, channels % 2 ? bias.data() : nullptr, out, r.y.data(),
               row);
  table.output_gradient(x.data(), row, channels, out, r.z.data(), plane);
  table.filter(w.data(), plane, channels, r.u.data(), plane);
  table.filter_gradient(m.data(), plane, channels, r.dw.data(), plane);
  return r;
}

void check_close(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::fmax(worst, std::abs(a[i] - b[i]));
  // For sums of 36 values up to some tens.
  CHECK(worst < 1e-5);
}

}  // namespace

TEST_CASE("Winograd transforms match the reference under every ISA") {
  const WinogradTable& reference = *winograd_for(Isa::reference);
  const TilePart whole_in{0, 6, 0, 6}, whole_out{0, 4, 0, 4};
  for (const Isa isa : all_isas) {
    const WinogradTable* table = winograd_for(isa);
    if (!table) continue;
    for (const Size channels : {1, 7, 8, 9, 16, 31, 64, 65}) {
      CAPTURE(channels);
      for (const auto& [in, out] :
           {std::pair(whole_in, whole_out), std::pair(TilePart{1, 6, 0, 4}, TilePart{0, 4, 0, 3}),
            std::pair(TilePart{0, 3, 2, 6}, TilePart{0, 1, 0, 2})}) {
        const TileResults a = tile_results_of(*table, channels, in, out);
        const TileResults b = tile_results_of(reference, channels, in, out);
        check_close(a.v, b.v);
        check_close(a.y, b.y);
        check_close(a.z, b.z);
        check_close(a.u, b.u);
        check_close(a.dw, b.dw);
      }
    }
  }
}

TEST_CASE("a Winograd tile matches the direct convolution of its window") {
  const WinogradTable& table = *winograd_for(Isa::reference);
  const std::vector<float> x = tile_values(5, 36), w = tile_values(6, 9);
  std::vector<float> v(36), u(36), m(36), y(16);
  table.input(x.data(), 6, 1, {0, 6, 0, 6}, v.data(), 1);
  table.filter(w.data(), 1, 1, u.data(), 1);
  for (std::size_t e = 0; e < 36; ++e) m[e] = v[e] * u[e];
  table.output(m.data(), 1, 1, nullptr, {0, 4, 0, 4}, y.data(), 4);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) {
      double sum = 0;
      for (std::size_t r = 0; r < 3; ++r)
        for (std::size_t s = 0; s < 3; ++s)
          sum += double{x[(i + r) * 6 + j + s]} * double{w[r * 3 + s]};
      CHECK(y[i * 4 + j] == doctest::Approx(sum).epsilon(1e-5));
    }
}
