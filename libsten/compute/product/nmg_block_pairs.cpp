// SPDX-License-Identifier: Apache-2.0
// Block pairs of 1:m:g.
#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "libsten/compute/product/nmg_packed.h"
#include "libsten/compute/product/packed.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/layout/nmg_slots.h"

namespace sten {
namespace {

using kernels::panel_width;

// Two neighbouring row blocks: row and value of each column.
struct BlockPair {
  std::vector<std::uint16_t> rows[2];
  std::vector<float> values[2];

  BlockPair(const Nmg& a, Index pair) {
    const NmgGeometry geo = a.geometry();
    const Index cols = a.extents[1];
    const auto table = PatternTable::get(1, a.m);
    const auto from = packable(a.values);
    for (Index which = 0; which < 2; ++which) {
      rows[which].resize(cols);
      values[which].resize(cols);
      const Index block = 2 * pair + which;
      for (Index chunk = 0; chunk < geo.chunks; ++chunk)
        for (Index i = 0; i < geo.strips; ++i) {
          const Index slot = (block * geo.chunks + chunk) * geo.strips + i;
          const Index col = chunk * geo.strips + strip_at(a.index, slot);
          if (col >= cols) continue;
          rows[which][col] = (*table)[i / a.g][0];
          values[which][col] = from[slot];
        }
    }
  }
};

// The columns of a slab, sorted by their rows (i, j) in the two blocks. Memory is reused.
struct Columns {
  Index m;
  std::vector<Index> first, sorted;  // [m * m + 1]: start of the columns of i * m + j; columns
  std::vector<Index> left[2];        // [m, left_each]: unshared columns of each row
  Index shared = 0, left_each = 0;

  explicit Columns(Index rows) : m(rows) {}

  // The number of columns that every (i, j) has.
  Index count(const BlockPair& pair, Index begin, Index end) {
    first.assign(m * m + 1, 0);
    for (Index c = begin; c < end; ++c) ++first[pair.rows[0][c] * m + pair.rows[1][c] + 1];
    return *std::min_element(first.begin() + 1, first.end());
  }
  void sort(const BlockPair& pair, Index begin, Index end, Index steps, Index share) {
    count(pair, begin, end);
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<Index>& next = left[0];
    next.assign(first.begin(), first.end());
    sorted.resize(end - begin);
    for (Index c = begin; c < end; ++c) sorted[next[pair.rows[0][c] * m + pair.rows[1][c]]++] = c;
    shared = share;
    left_each = steps - m * share;
    for (auto& l : left) l.clear();
    for (Index i = 0; i < m; ++i)
      for (Index j = 0; j < m; ++j) add_left(0, i * m + j);
    for (Index j = 0; j < m; ++j)
      for (Index i = 0; i < m; ++i) add_left(1, i * m + j);
  }

 private:
  void add_left(Index which, Index cell) {
    left[which].insert(left[which].end(), sorted.begin() + first[cell] + shared,
                       sorted.begin() + first[cell + 1]);
  }
};

// Writes a pair's strips in a slab.
class Writer {
 public:
  Writer(const BlockPair& pair, Index first_column, std::uint16_t* offsets, float* values)
      : pair_(pair), first_column_(first_column), offsets_(offsets), values_(values) {}

  void write(const Columns& columns) {
    const Index m = columns.m, each = columns.left_each, rounds = each / m;
    const auto left = [&](Index which, Index row) {
      return columns.left[which].data() + row * each;
    };
    for (Index i = 0; i < m; ++i) {
      for (Index k = 0; k < columns.shared; ++k)
        for (Index j = 0; j < m; ++j) {
          const Index c = columns.sorted[columns.first[i * m + j] + k];
          column(c);
          value(0, c);
          value(1, c);
        }
      // In the second block, each row takes equally many columns with every i.
      for (Index k = 0; k < rounds; ++k)
        for (Index j = 0; j < m; ++j) {
          strip(0, left(0, i)[k * m + j]);
          strip(1, left(1, j)[i * rounds + k]);
        }
      for (Index k = rounds * m; k < each; ++k) strip(0, left(0, i)[k]);
    }
    for (Index j = 0; j < m; ++j)
      for (Index k = rounds * m; k < each; ++k) strip(1, left(1, j)[k]);
  }

 private:
  void column(Index c) {
    *offsets_++ = static_cast<std::uint16_t>((c - first_column_) * panel_width * sizeof(float));
  }
  void value(Index which, Index c) { *values_++ = pair_.values[which][c]; }
  void strip(Index which, Index c) {
    column(c);
    value(which, c);
  }

  const BlockPair& pair_;
  Index first_column_;
  std::uint16_t* offsets_;
  float* values_;
};

}  // namespace

void NmgPacked::pair_row_blocks(const Nmg& a) {
  const Index pairs = row_blocks / 2;
  if (pairs == 0) return;
  shared.assign(slab_count() * pairs, 0);
  std::vector<std::optional<BlockPair>> of(pairs);
  const auto each_pair = [&](auto&& f) {
    parallel_for(pairs, 1, [&](Index begin, Index end) {
      Columns columns(m);
      for (Index i = begin; i < end; ++i) {
        if (!of[i]) of[i].emplace(a, i);
        const BlockPair& pair = *of[i];
        for (Index s = 0; s < slab_count(); ++s)
          if (steps[s] >= 0) f(i, s, pair, columns);
      }
    });
  };
  each_pair([&](Index i, Index s, const BlockPair& pair, Columns& columns) {
    const Index all = columns.count(pair, slabs[s], slabs[s + 1]);
    shared[s * pairs + i] = static_cast<std::uint16_t>(std::min(all, steps[s] / m));
  });
  is_paired.assign(slab_count(), false);
  for (Index s = 0; s < slab_count(); ++s) {
    const auto columns = std::span(shared).subspan(s * pairs, pairs);
    // A shared column takes one strip instead of two. With less than a quarter shared, shorter
    // loops lose more than this saves.
    is_paired[s] =
        steps[s] > 0 &&
        4 * m * std::accumulate(columns.begin(), columns.end(), Index{0}) >= steps[s] * pairs;
  }
  std::uint16_t* const to_offsets = offsets.mutate();
  float* const to_values = values.mutate();
  each_pair([&](Index i, Index s, const BlockPair& pair, Columns& columns) {
    if (!is_paired[s]) return;
    const Index at = first[s * row_blocks + 2 * i];
    columns.sort(pair, slabs[s], slabs[s + 1], steps[s], shared[s * pairs + i]);
    Writer(pair, slabs[s], to_offsets + at, to_values + at).write(columns);
  });
}

}  // namespace sten
