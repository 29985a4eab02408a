// SPDX-License-Identifier: Apache-2.0
#include "kernels/tiles.h"

#include <cmath>

#include "kernels/interleaved.h"
#include "libsten/core/base/array.h"
#include "tests/kernels/fenced.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

Array<std::uint16_t> random_words(Index n, Dice& dice) {
  Array<std::uint16_t> all(n);
  for (Index i = 0; i < n; ++i)
    all.mutate()[i] = kernels::round_to_bf16(static_cast<float>(dice.normal()));
  return all;
}

// TileRows with one and two tiles, with all columns or a list, of several depths.
struct TilesCase {
  Index lanes, panels;
  static constexpr Index interleaved = 64;  // rows of a panel
  Array<std::uint16_t> values, x;
  Array<std::uint32_t> columns;
  std::vector<kernels::TileRows> rows;
  Index row_count = 0;

  TilesCase(Index lanes_, Index panels_, Dice& dice) : lanes(lanes_), panels(panels_) {
    x = random_words(panels * interleaved * lanes * 2, dice);
    values = random_words(40 * kernels::tile_size, dice);
    columns = Array<std::uint32_t>(20 * kernels::tile_feature_pairs);
    for (std::uint32_t& c : std::span(columns.mutate(), columns.size()))
      c = static_cast<std::uint32_t>(dice.below(interleaved)) * kernels::panel_width * 4;
    const std::uint16_t* value = values.data();
    for (const Index tiles : {2, 1, 2, 1})
      for (const Index depth : {3, 0, 1, 4}) {
        const bool all = (tiles + depth + std::ssize(rows)) % 2;
        rows.push_back({value, all ? nullptr : columns.data() + 16 * depth, tiles, depth});
        value = values.data() + (value - values.data() + tiles * depth * kernels::tile_size) %
                                    (24 * kernels::tile_size);
        row_count += tiles * kernels::tile_rows;
      }
  }

  // The exact sum in double, and the sum of magnitudes.
  std::pair<double, double> at(Index row, Index panel, Index token, double sum) const {
    const kernels::TileRows* a = rows.data();
    for (; row >= a->tiles * kernels::tile_rows; ++a) row -= a->tiles * kernels::tile_rows;
    double size = std::abs(sum);
    for (Index i = 0; i < a->depth * 16; ++i)
      for (Index j = 0; j < 2; ++j) {
        const Index line = a->columns ? a->columns[i] / 256 : i;
        const double v = kernels::widen_bf16(
            a->values[((i / 16 * a->tiles + row / 16) * 16 + row % 16) * 32 + i % 16 * 2 + j]);
        const double f =
            kernels::widen_bf16(x[((panel * interleaved + line) * lanes + token) * 2 + j]);
        sum += v * f;
        size += std::abs(v * f);
      }
    return {sum, size};
  }
};

}  // namespace

TEST_CASE("tile products with all or listed columns are within rounding under every ISA") {
  for (const Index lanes : {kernels::narrow_panel_width, kernels::panel_width})
    for (const Index panels : {1, 3})
      for (const bool more : {false, true}) {
        Dice dice(panels);
        const TilesCase c(lanes, panels, dice);
        const Index size = c.row_count * lanes;
        Array<float> before(panels * size);
        for (float& v : std::span(before.mutate(), before.size()))
          v = static_cast<float>(dice.normal());
        std::vector<std::pair<double, double>> expected;  // the sum and its maximum error
        for (Index i = 0; i < panels * size; ++i) {
          const auto [sum, magnitudes] =
              c.at(i % size / lanes, i / size, i % lanes, more ? before[i] : 0);
          expected.emplace_back(sum, magnitudes * 130 / (1 << 24));
        }
        for (const kernels::Isa isa : kernels::all_isas) {
          const kernels::TilesTable* table = kernels::tiles_for(isa);
          if (!table) continue;
          const std::string name = kernels::name_of(isa);
          CAPTURE(name);
          Array<float> sums = before;
          table->multiply[lanes == kernels::panel_width](
              c.rows.data(), std::ssize(c.rows),
              {panels, c.x.data(), c.interleaved * lanes * 2, sums.mutate(), size}, more);
          Index wrong = 0;
          for (Index i = 0; i < panels * size; ++i)
            wrong += !(std::abs(sums[i] - expected[i].first) <= expected[i].second);
          CHECK(wrong == 0);
        }
      }
}

TEST_CASE("tile sums passed to a callback match stored sums, each part once and in order") {
  struct Blocks {
    const TilesCase& c;
    Array<float> sums;
    std::vector<int> parts;  // received parts of each sum, as bits
    bool in_order = true;
    Index index(const kernels::TileBlock& b, Index r, Index t) const {
      return (b.panel * c.row_count + b.row + r) * c.lanes + b.token + t;
    }
    void take(const kernels::TileBlock& b, Index part) {
      for (Index r = 0; r < b.rows; ++r)
        for (Index t = 0; t < b.tokens; ++t) {
          const Index i = index(b, r, t);
          in_order = in_order && parts[i] == (1 << part) - 1;
          parts[i] |= 1 << part;
          if (part == 0) sums.mutate()[i] = b.sums[r * b.tokens + t];
        }
    }
  };
  for (const kernels::Isa isa : kernels::all_isas) {
    const kernels::TilesTable* table = kernels::tiles_for(isa);
    if (!table) continue;
    const std::string name = kernels::name_of(isa);
    CAPTURE(name);
    for (const Index lanes : {kernels::narrow_panel_width, kernels::panel_width})
      for (const Index panels : {1, 3}) {
        Dice dice(panels);
        const TilesCase c(lanes, panels, dice);
        const Index size = c.row_count * lanes;
        Array<float> sums(panels * size);
        const kernels::TilePanels all{panels, c.x.data(), c.interleaved * lanes * 2, sums.mutate(),
                                      size};
        const bool wide = lanes == kernels::panel_width;
        table->multiply[wide](c.rows.data(), std::ssize(c.rows), all, false);
        Blocks blocks{c, Array<float>(panels * size), std::vector<int>(panels * size)};
        const auto take = [](const void* self, const kernels::TileBlock& b, Index part) {
          static_cast<Blocks*>(const_cast<void*>(self))->take(b, part);
        };
        table->each[wide](c.rows.data(), std::ssize(c.rows), all, {take, &blocks});
        CHECK(blocks.in_order);
        CHECK(std::equal(sums.begin(), sums.end(), blocks.sums.begin()));
        CHECK(std::ranges::count(blocks.parts, (1 << kernels::tile_parts) - 1) == panels * size);
      }
  }
}
