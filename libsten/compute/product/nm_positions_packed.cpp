// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/nm_positions_packed.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "libsten/core/base/parallel.h"
#include "libsten/core/layout/nm_positions.h"
#include "libsten/core/layout/nmg_patterns.h"
#include "libsten/core/layout/nmg_slots.h"

namespace sten {
namespace {

// Columns per slab: 32 KB of x in two panels, for the L1 cache.
constexpr Index most_columns = 64;
constexpr Index most_patterns = 28;
// For n = 1: with more rows, a slab has too few strips per pair of rows.
constexpr Index most_pair_rows = 3;

// Calls f(column, pattern, index of its first value) for the strips of a row block.
template <class F>
void each_strip(const Nmg& a, Index block, F&& f) {
  const NmgGeometry geo = a.geometry();
  for (Index chunk = 0; chunk < geo.chunks; ++chunk)
    for (Index i = 0; i < geo.strips; ++i) {
      const Index slot = (block * geo.chunks + chunk) * geo.strips + i;
      const Index column = chunk * geo.strips + strip_at(a.index, slot);
      if (column < a.extents[1]) f(column, i / a.g, slot * a.n);
    }
}
template <class F>
void each_strip(const Nm& a, Index block, F&& f) {
  const auto table = PatternTable::get(a.n, a.m);
  const Index blocks = ceil_div(a.extents[0], a.m), row_bytes = a.row_bytes();
  const Index bits = std::bit_width(static_cast<std::uint64_t>(a.m - 1));
  std::vector<std::uint16_t> at(a.n);
  for (Index c = 0; c < a.extents[1]; ++c) {
    const std::uint8_t* line = a.pos.data() + c * row_bytes;
    BitReader positions(line, block * a.n * bits, line + row_bytes);
    for (std::uint16_t& p : at) p = static_cast<std::uint16_t>(positions.next(bits));
    f(c, table->find(at.data()), (c * blocks + block) * a.n);
  }
}

// Slabs of whole chunks, or of equal parts of a chunk.
std::vector<Index> slabs_of_chunks(Index cols, Index chunk) {
  std::vector<Index> at{0};
  const Index step = most_columns / chunk * chunk, parts = ceil_div(chunk, most_columns);
  while (step > 0 && at.back() < cols) at.push_back(std::min(cols, at.back() + step));
  for (Index c = 0; step == 0 && c < cols; c += chunk)
    for (Index i = 1; i <= parts && at.back() < cols; ++i)
      at.push_back(std::min(cols, c + i * chunk / parts));
  return at;
}

}  // namespace

bool NmPositionsPacked::takes(Index n, Index m) {
  return n > 1 ? sten::pattern_count(n, m, most_patterns) <= most_patterns
               : m > 1 && m <= most_pair_rows;
}

template <class Layout>
void NmPositionsPacked::pack(const Layout& a, Index chunk) {
  const auto table = PatternTable::get(a.n, a.m);
  const Index row_blocks = ceil_div(a.extents[0], a.m), at_once = a.n == 1 ? 2 : 1;
  rows = a.extents[0];
  cols = a.extents[1];
  blocks = ceil_div(row_blocks, at_once);
  n = a.n * at_once;
  m = a.m * at_once;
  if (at_once == 1) {
    patterns.assign(table->data(), table->data() + table->count() * n);
  } else {
    for (Index i = 0; i < a.m; ++i)
      for (Index j = 0; j < a.m; ++j)
        for (const Index row : {i, a.m + j}) patterns.push_back(static_cast<std::uint16_t>(row));
  }
  pattern_count = std::ssize(patterns) / n;
  slabs = slabs_of_chunks(cols, chunk);
  counts.assign(slab_count() * blocks * pattern_count, 0);
  columns = Array<std::uint16_t>::uninitialized(cols * blocks);
  slots = Array<std::uint32_t>::uninitialized(cols * blocks * n);
  std::uint16_t* const to_columns = columns.mutate();
  std::uint32_t* const to_slots = slots.mutate();
  parallel_for(blocks, 1, [&](Index begin, Index end) {
    std::vector<Index> pattern_of(cols), at(cols), next(pattern_count);
    for (Index b = begin; b < end; ++b) {
      // Calls f(index of the row block, column, pattern, slot).
      const auto each = [&](auto&& f) {
        for (Index i = 0; i < at_once && b * at_once + i < row_blocks; ++i)
          each_strip(a, b * at_once + i, [&](Index c, Index p, Index slot) { f(i, c, p, slot); });
      };
      std::ranges::fill(pattern_of, 0);
      // With n = 1, pattern p is a row.
      each([&](Index i, Index c, Index p, Index) {
        if (at_once == 1)
          pattern_of[c] = p;
        else
          pattern_of[c] += i == 0 ? (*table)[p][0] * a.m : (*table)[p][0];
      });
      for (Index s = 0; s < slab_count(); ++s) {
        std::uint16_t* const count = counts.data() + (s * blocks + b) * pattern_count;
        for (Index c = slabs[s]; c < slabs[s + 1]; ++c) ++count[pattern_of[c]];
        std::exclusive_scan(count, count + pattern_count, next.begin(), first(s, b));
        for (Index c = slabs[s]; c < slabs[s + 1]; ++c) {
          at[c] = next[pattern_of[c]]++;
          to_columns[at[c]] = static_cast<std::uint16_t>(c - slabs[s]);
        }
      }
      for (Index c = 0; c < cols; ++c) std::fill_n(to_slots + at[c] * n, n, none);
      each([&](Index i, Index c, Index p, Index slot) {
        const Index row_block = b * at_once + i;
        for (Index v = 0; v < a.n; ++v)
          if (row_block * a.m + (*table)[p][v] < rows)
            to_slots[at[c] * n + i * a.n + v] = static_cast<std::uint32_t>(slot + v);
      });
    }
  });
}

NmPositionsPacked::NmPositionsPacked(const Nm& a) { pack(a, 1); }
NmPositionsPacked::NmPositionsPacked(const Nmg& a) { pack(a, a.geometry().strips); }

}  // namespace sten
