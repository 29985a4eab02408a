// SPDX-License-Identifier: Apache-2.0
#include "kernels/interleaved_panels.h"

#include <cmath>

#include "kernels/interleaved.h"
#include "tests/kernels/fenced.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Interleaved features [(n + 1) / 2, lanes, 2]; an odd last feature has a 0 beside it.
Array<std::uint16_t> interleaved_features(Index n, Index lanes, float shift, std::uint64_t seed) {
  Dice dice(seed);
  Array<std::uint16_t> all((n + 1) / 2 * 2 * lanes);
  std::uint16_t* to = all.mutate();
  for (Index r = 0; r < n; ++r)
    for (Index t = 0; t < lanes; ++t)
      to[r / 2 * 2 * lanes + 2 * t + r % 2] =
          kernels::round_to_bf16(static_cast<float>(dice.normal()) + shift);
  return all;
}
Array<float> feature_floats(Index n, std::uint64_t seed) {
  Dice dice(seed);
  Array<float> all(n);
  for (float& x : std::span(all.mutate(), all.size())) x = static_cast<float>(dice.normal());
  return all;
}

// Results may differ by one ulp, because sums in another order can round to the neighbour.
void check_neighbours(const Array<std::uint16_t>& got, const Array<std::uint16_t>& wanted) {
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const float x = kernels::widen_bf16(got[i]), y = kernels::widen_bf16(wanted[i]);
    if (!(std::abs(x - y) <= std::ldexp(std::abs(y), -7) + 1e-6f))
      FAIL_CHECK("element " << i << " is " << x << ", not " << y);
  }
}

template <class F>
void each_interleaved_panels_table(F&& f) {
  for (const Index lanes : {kernels::panel_width, kernels::narrow_panel_width})
    for (const kernels::Isa isa : kernels::all_isas) {
      const kernels::InterleavedPanelsTable* table = kernels::interleaved_panels_for(isa, lanes);
      if (!table || isa == kernels::Isa::reference) continue;
      const std::string name = kernels::name_of(isa);
      CAPTURE(name);
      CAPTURE(lanes);
      f(*table, *kernels::interleaved_panels_for(kernels::Isa::reference, lanes), lanes);
    }
}

}  // namespace

TEST_CASE("layer norms of interleaved panels match the reference, also in place") {
  each_interleaved_panels_table([](const kernels::InterleavedPanelsTable& table,
                                   const kernels::InterleavedPanelsTable& reference, Index lanes) {
    for (const Index n : {1, 2, 7, 64, 129})
      for (const float shift : {0.0f, 30.0f}) {
        CAPTURE(n);
        CAPTURE(shift);
        Array<std::uint16_t> x = interleaved_features(n, lanes, shift, 4);
        const Array<float> gamma = feature_floats(n, 5), beta = feature_floats(n, 6);
        Array<std::uint16_t> got(x.size()), wanted(x.size());
        table.normalize(x.data(), n, 1e-5f, gamma.data(), beta.data(), got.mutate());
        reference.normalize(x.data(), n, 1e-5f, gamma.data(), beta.data(), wanted.mutate());
        check_neighbours(got, wanted);
        std::uint16_t* in_place = x.mutate();
        table.normalize(in_place, n, 1e-5f, gamma.data(), beta.data(), in_place);
        for (std::size_t i = 0; i < x.size(); ++i) REQUIRE(x[i] == got[i]);
      }
  });
}

TEST_CASE("products with a range of interleaved features match the reference") {
  each_interleaved_panels_table([](const kernels::InterleavedPanelsTable& table,
                                   const kernels::InterleavedPanelsTable& reference, Index lanes) {
    const Array<std::uint16_t> x = interleaved_features(140, lanes, 0, 4);
    for (const Index rows : {1, 2, 3, 4, 5, 9})
      for (const Index first : {0, 1, 6})
        for (const Index depth : {0, 1, 2, 5, 64, 133}) {
          CAPTURE(rows);
          CAPTURE(first);
          CAPTURE(depth);
          const Index lda = depth + 3;
          const Array<float> a = feature_floats(rows * lda, 7);
          Array<float> got(rows * lanes), wanted(rows * lanes);
          table.multiply(a.data(), lda, rows, x.data(), first, depth, got.mutate());
          reference.multiply(a.data(), lda, rows, x.data(), first, depth, wanted.mutate());
          for (std::size_t i = 0; i < wanted.size(); ++i)
            REQUIRE(std::abs(got[i] - wanted[i]) <= 1e-6f * static_cast<float>(depth + 1));
        }
  });
}
