// SPDX-License-Identifier: Apache-2.0
#include "kernels/interleaved.h"

#include <cmath>
#include <limits>
#include <random>

#include "kernels/epilogue.h"
#include "libsten/core/base/array.h"
#include "tests/kernels/fenced.h"

using namespace sten;
using namespace sten::testing;

namespace {

using InterleavedWords = std::vector<std::uint16_t>;

// Values of all magnitudes, ties, NaN, infinities and subnormals.
std::vector<float> hard_floats(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::uint32_t specials[]{0x00000000, 0x00000001, 0x007fffff, 0x00800000, 0x3f808000,
                                 0x3f818000, 0x3f807fff, 0x3f808001, 0x7f7fffff, 0x7f7f0000,
                                 0x7f800000, 0x7f800001, 0x7fffffff, 0x7fc00000};
  std::vector<float> all(n);
  for (float& x : all) {
    auto bits = static_cast<std::uint32_t>(random());
    if (random() % 4 == 0) bits = specials[random() % std::size(specials)] | (random() & 1) << 31;
    x = std::bit_cast<float>(bits);
  }
  return all;
}

template <class F>
void each_interleaved_table(F&& f) {
  for (const kernels::Isa isa : kernels::all_isas) {
    const kernels::InterleavedTable* table = kernels::interleaved_for(isa);
    if (!table) continue;
    const std::string name = kernels::name_of(isa);
    CAPTURE(name);
    f(*table);
  }
}

}  // namespace

TEST_CASE("round_to_bf16 rounds to nearest, ties to even, and keeps NaN") {
  const auto rounded = [](std::uint32_t bits) {
    return kernels::round_to_bf16(std::bit_cast<float>(bits));
  };
  CHECK(kernels::round_to_bf16(1.0f) == 0x3f80);
  CHECK(kernels::round_to_bf16(-1.0f) == 0xbf80);
  CHECK(rounded(0x3f808000) == 0x3f80);
  CHECK(rounded(0x3f818000) == 0x3f82);
  CHECK(rounded(0x3f808001) == 0x3f81);
  CHECK(rounded(0x7f7fffff) == 0x7f80);  // beyond the greatest
  CHECK(rounded(0x7f800001) == 0x7fc0);
  CHECK(rounded(0xff800001) == 0xffc0);
  CHECK(rounded(0x807fffff) == 0x8000);
  CHECK(kernels::widen_bf16(0xc040) == -3.0f);
}

TEST_CASE("interleaving and widening are bit-identical under every ISA and stay in bounds") {
  const kernels::InterleavedTable& reference = *kernels::interleaved_for(kernels::Isa::reference);
  each_interleaved_table([&](const kernels::InterleavedTable& table) {
    for (const std::int64_t features : {0, 1, 2, 7, 16, 31, 32, 33, 70})
      for (const std::int64_t tokens : {0, 1, 7, 8, 9, 16, 17, 64}) {
        CAPTURE(features);
        CAPTURE(tokens);
        const auto interleaved = static_cast<std::size_t>((features + 1) / 2 * tokens * 2);
        Fenced<float> x(hard_floats(features * tokens, features * 100 + tokens));
        InterleavedWords words(features * tokens);
        for (std::size_t i = 0; i < words.size(); ++i)
          words[i] = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x.data()[i]) >> 16);
        Fenced<std::uint16_t> x16(words);
        const auto check = [&](auto slot, auto* from, std::int64_t ldx) {
          Fenced<std::uint16_t> y(interleaved), wanted(interleaved);
          (table.*slot)(from, ldx, features, tokens, y.data(), 2 * tokens);
          (reference.*slot)(from, ldx, features, tokens, wanted.data(), 2 * tokens);
          CHECK(y.values() == wanted.values());
        };
        check(&kernels::InterleavedTable::round_features, x.data(), tokens);
        check(&kernels::InterleavedTable::round_tokens, x.data(), features);
        check(&kernels::InterleavedTable::interleave_features, x16.data(), tokens);
        check(&kernels::InterleavedTable::interleave_tokens, x16.data(), features);

        // Panels of 8 tokens, the last one possibly shorter.
        constexpr std::int64_t width = 8;
        const std::int64_t step = (features + 1) / 2 * 2 * width + 4;
        const auto check_panels = [&](auto slot, auto* from) {
          const auto size = static_cast<std::size_t>((tokens + width - 1) / width * step);
          Fenced<std::uint16_t> y(size), wanted(size);
          (table.*slot)(from, tokens, features, tokens, y.data(), 2 * width, step);
          (reference.*slot)(from, tokens, features, tokens, wanted.data(), 2 * width, step);
          CHECK(y.values() == wanted.values());
        };
        check_panels(&kernels::InterleavedTable::round_panels, x.data());
        check_panels(&kernels::InterleavedTable::interleaved_panels, x16.data());

        words.resize(interleaved, 0x3f80);
        Fenced<std::uint16_t> all(words);
        Fenced<float> y(features * tokens), wanted(features * tokens);
        table.widen_features(all.data(), 2 * tokens, features, tokens, y.data(), tokens);
        reference.widen_features(all.data(), 2 * tokens, features, tokens, wanted.data(), tokens);
        for (std::int64_t i = 0; i < features * tokens; ++i)
          if (std::bit_cast<std::uint32_t>(y.data()[i]) !=
              std::bit_cast<std::uint32_t>(wanted.data()[i]))
            FAIL_CHECK("element " << i);
      }
  });
}

TEST_CASE("transpose_panel turns rows of features into rows of tokens at any alignment") {
  each_interleaved_table([&](const kernels::InterleavedTable& table) {
    for (const std::int64_t features : {0, 1, 15, 16, 40, 64})
      for (const std::int64_t tokens : {0, 1, 17, 64})
        for (const std::int64_t begin : {0, 3, 16})
          for (const bool stream : {false, true}) {
            const std::int64_t stride = 80;
            std::vector<float> x(features * 64), wanted(begin + tokens * stride + 64, -1.0f);
            for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
            Array<float> y(wanted.size());
            std::copy(wanted.begin(), wanted.end(), y.mutate());
            for (std::int64_t t = 0; t < tokens; ++t)
              for (std::int64_t k = 0; k < features; ++k)
                wanted[begin + t * stride + k] = x[k * 64 + t];
            table.transpose_panel(x.data(), 64, features, tokens, stream, y.mutate() + begin,
                                  stride);
            kernels::epilogue().stream_done();
            REQUIRE(std::equal(wanted.begin(), wanted.end(), y.begin()));
          }
  });
}
