#include "libsten/product/nmg_pairs.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "libsten/base/parallel.h"

namespace sten {
namespace {

using kernels::panel_width;

// Of two neighbouring row blocks: for each column the row of its value, and the value.
struct Pair {
  std::vector<std::uint16_t> rows[2];
  std::vector<float> values[2];

  Pair(const Nmg& a, Index pair) {
    const NmgGeometry geo = a.geometry();
    const Index cols = a.extents[1];
    const auto table = PatternTable::get(1, a.m);
    const auto from = a.values.as<float>();
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

// The columns [begin, end) of a pair, of rows i and j at [i * m + j].
std::vector<std::vector<Index>> columns_by_rows(const Pair& pair, Index m, Index begin, Index end) {
  std::vector<std::vector<Index>> columns(m * m);
  for (Index c = begin; c < end; ++c) columns[pair.rows[0][c] * m + pair.rows[1][c]].push_back(c);
  return columns;
}

Index shared_of(const std::vector<std::vector<Index>>& columns, Index most) {
  for (const auto& c : columns) most = std::min(most, std::ssize(c));
  return most;
}

// Writes what a pair has in a slab.
class Writer {
 public:
  Writer(const Pair& pair, Index first_column, std::uint16_t* offsets, float* values)
      : pair_(pair), first_column_(first_column), offsets_(offsets), values_(values) {}

  void write(const std::vector<std::vector<Index>>& columns, Index m, Index steps, Index shared) {
    std::vector<std::vector<Index>> left[2]{std::vector<std::vector<Index>>(m),
                                            std::vector<std::vector<Index>>(m)};
    for (Index i = 0; i < m; ++i)
      for (Index j = 0; j < m; ++j)
        for (const Index c : std::span(columns[i * m + j]).subspan(shared)) {
          left[0][i].push_back(c);
          left[1][j].push_back(c);
        }
    std::vector<Index> next(m);  // of left[1]
    for (Index i = 0; i < m; ++i) {
      for (Index k = 0; k < shared; ++k)
        for (Index j = 0; j < m; ++j) {
          const Index c = columns[i * m + j][k];
          column(c);
          value(0, c);
          value(1, c);
        }
      Index at = 0;
      for (Index k = shared; k < steps / m; ++k)
        for (Index j = 0; j < m; ++j) {
          strip(0, left[0][i][at++]);
          strip(1, left[1][j][next[j]++]);
        }
      while (at < std::ssize(left[0][i])) strip(0, left[0][i][at++]);
    }
    for (Index j = 0; j < m; ++j)
      while (next[j] < std::ssize(left[1][j])) strip(1, left[1][j][next[j]++]);
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

  const Pair& pair_;
  Index first_column_;
  std::uint16_t* offsets_;
  float* values_;
};

}  // namespace

void pair_row_blocks(NmgPacked& packed, const Nmg& a) {
  const Index m = packed.m, pairs = packed.row_blocks / 2;
  if (pairs == 0) return;
  packed.shared.assign(packed.slab_count() * pairs, 0);
  const auto each_pair = [&](auto&& f) {
    parallel_for(pairs, 1, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i) {
        const Pair pair(a, i);
        for (Index s = 0; s < packed.slab_count(); ++s)
          if (packed.steps[s] >= 0)
            f(i, s, pair, columns_by_rows(pair, m, packed.slabs[s], packed.slabs[s + 1]));
      }
    });
  };
  each_pair([&](Index i, Index s, const Pair&, const std::vector<std::vector<Index>>& columns) {
    packed.shared[s * pairs + i] =
        static_cast<std::uint16_t>(shared_of(columns, packed.steps[s] / m));
  });
  packed.is_paired.assign(packed.slab_count(), false);
  for (Index s = 0; s < packed.slab_count(); ++s) {
    const auto shared = std::span(packed.shared).subspan(s * pairs, pairs);
    // Two strips of one column instead of one: with less than a quarter of them shared, what is saved
    // is lost to shorter loops.
    packed.is_paired[s] =
        packed.steps[s] > 0 &&
        4 * m * std::accumulate(shared.begin(), shared.end(), Index{0}) >= packed.steps[s] * pairs;
  }
  std::uint16_t* const offsets = packed.offsets.mutate();
  float* const values = packed.values.mutate();
  each_pair(
      [&](Index i, Index s, const Pair& pair, const std::vector<std::vector<Index>>& columns) {
        const Index at = packed.first[s * packed.row_blocks + 2 * i];
        if (packed.is_paired[s])
          Writer(pair, packed.slabs[s], offsets + at, values + at)
              .write(columns, m, packed.steps[s], packed.shared[s * pairs + i]);
      });
}

}  // namespace sten
