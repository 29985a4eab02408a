// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/sparsify/row_permutation.h"

#include <cmath>
#include <numeric>

#include "libsten/core/base/parallel.h"
#include "libsten/core/sparsify/balanced_groups.h"

namespace sten {
namespace {

constexpr Index rows_at_once = 64;  // per step of loops over rows, so that their data stay in cache

// The magnitude of each row in each column of tiles, scaled to [0, 1], column by column.
struct RowSums {
  Index rows = 0, columns = 0;
  std::vector<float> values;  // [columns, rows]
  double all = 0;             // 0 if all values are 0 or their maximum is not finite
  const float* column(Index c) const { return values.data() + c * rows; }
};

RowSums sums_of_rows(const Dense& x, Index w) {
  const NmgFit any{1, 1, 1, 0, NmgvGeometry::tile_dims(), FitMethod::greedy};
  const Dense sums = NmgvFit{any, 1, w, {}}.sums(x);  // of tiles with one row
  RowSums out{sums.extents[1], sums.extents[2], std::vector<float>(sums.size()), 0};
  with_float(sums.dtype(), [&]<class E>(E) {
    const auto from = sums.values.as<typename E::Bits>();
    double most = 0;
    for (const auto bits : from) most = std::max(most, static_cast<double>(E::decode(bits)));
    if (!(most > 0 && std::isfinite(most))) return;
    for (Index r0 = 0; r0 < out.rows; r0 += rows_at_once)
      for (Index c = 0; c < out.columns; ++c)
        for (Index r = r0; r < std::min(out.rows, r0 + rows_at_once); ++r)
          out.values[c * out.rows + r] =
              static_cast<float>(static_cast<double>(E::decode(from[r * out.columns + c])) / most);
    for (const float v : out.values) out.all += v;
  });
  return out;
}

class Groups {
 public:
  Groups(const RowSums& sums, const NmgvFit& fit)
      : sums_(sums), fit_(fit), count_(ceil_div(sums.rows, fit.v)) {}
  Index count() const { return count_; }

  struct Kept {
    double share = 0;
    std::vector<std::vector<Index>> columns;  // per group
  };
  Kept keep(const std::vector<Index>& order) const {
    const Index columns = sums_.columns;
    Dense of_tiles = Dense::zeros(DType::F32, {1, count_, columns});
    float* to = of_tiles.values.mutate<float>().data();
    parallel_for(columns, 8, [&](Index begin, Index end) {
      for (Index c = begin; c < end; ++c) {
        const float* from = sums_.column(c);
        for (Index i = 0; i < sums_.rows; ++i) to[i / fit_.v * columns + c] += from[order[i]];
      }
    });
    const Mask mask = fit_.tiles.select(of_tiles, {});
    Kept kept{0, std::vector<std::vector<Index>>(count_)};
    for (Index k = 0; k < count_; ++k)
      for (Index c = 0; c < columns; ++c)
        if (mask[k * columns + c]) {
          kept.columns[k].push_back(c);
          kept.share += to[k * columns + c];
        }
    kept.share /= sums_.all;
    return kept;
  }

  // The magnitude of each row at the columns that each group keeps: [rows, groups].
  std::vector<float> values(const Kept& kept) const {
    std::vector<float> values(sums_.rows * count_);
    parallel_for(sums_.rows, rows_at_once, [&](Index begin, Index end) {
      for (Index r0 = begin; r0 < end; r0 += rows_at_once) {
        const Index n = std::min(rows_at_once, end - r0);
        for (Index k = 0; k < count_; ++k) {
          float sum[rows_at_once] = {};
          for (const Index c : kept.columns[k]) {
            const float* from = sums_.column(c) + r0;
            for (Index i = 0; i < n; ++i) sum[i] += from[i];
          }
          for (Index i = 0; i < n; ++i) values[(r0 + i) * count_ + k] = sum[i];
        }
      }
    });
    return values;
  }

 private:
  const RowSums& sums_;
  const NmgvFit& fit_;
  Index count_;
};

class Greedy {
 public:
  Greedy(const RowSums& sums, const NmgvFit& fit)
      : sums_(sums),
        n_(fit.tiles.n),
        m_(fit.tiles.m),
        v_(fit.v),
        chunks_(ceil_div(sums.columns, m_)),
        gain_(sums.rows),
        totals_(sums.columns),
        is_taken_(sums.columns) {}

  std::vector<Index> run() {
    measure_rows();
    std::vector<Index> order;
    std::vector<bool> left(sums_.rows, true);
    const auto best = [&](const std::vector<float>& of) {
      Index row = -1;
      for (Index r = 0; r < sums_.rows; ++r)
        if (left[r] && (row < 0 || of[r] > of[row])) row = r;
      return row;
    };
    for (Index i = 0; i < sums_.rows; ++i) {
      if (i % v_ == 0) begin_group();
      const Index row = best(i % v_ == 0 ? spread_ : gain_);
      left[row] = false;
      order.push_back(row);
      add(row);
    }
    return order;
  }

 private:
  // Computes the spread of each row over the columns of its chunks, and the average magnitude of n
  // of each m columns.
  void measure_rows() {
    spread_.assign(sums_.rows, 0);
    average_.assign(sums_.rows, 0);
    parallel_for(sums_.rows, rows_at_once, [&](Index begin, Index end) {
      std::vector<float> sum(end - begin);
      for (Index chunk = 0; chunk < chunks_; ++chunk) {
        const Index c0 = chunk * m_, c1 = std::min(sums_.columns, c0 + m_);
        std::fill(sum.begin(), sum.end(), 0.0f);
        for (Index c = c0; c < c1; ++c)
          for (Index r = begin; r < end; ++r) {
            const float value = sums_.column(c)[r];
            sum[r - begin] += value;
            spread_[r] += value * value;
          }
        const float each = 1 / static_cast<float>(c1 - c0),
                    share = static_cast<float>(std::min(n_, c1 - c0)) * each;
        for (Index r = begin; r < end; ++r) {
          spread_[r] -= sum[r - begin] * sum[r - begin] * each;
          average_[r] += sum[r - begin] * share;
        }
      }
    });
  }

  void begin_group() {
    for (Index r = 0; r < sums_.rows; ++r) gain_[r] = -average_[r];
    std::fill(totals_.begin(), totals_.end(), 0.0f);
    std::fill(is_taken_.begin(), is_taken_.end(), char{0});
  }

  // Adds a row to the group: updates the columns that the group keeps, and the gains of all rows.
  void add(Index row) {
    for (Index c = 0; c < sums_.columns; ++c) totals_[c] += sums_.column(c)[row];
    added_.clear();
    removed_.clear();
    std::vector<Index> by(m_);
    for (Index c0 = 0; c0 < sums_.columns; c0 += m_) {
      const Index size = std::min(m_, sums_.columns - c0), n = std::min(n_, size);
      std::iota(by.begin(), by.begin() + size, c0);
      std::partial_sort(by.begin(), by.begin() + n, by.begin() + size, [&](Index a, Index b) {
        return totals_[a] != totals_[b] ? totals_[a] > totals_[b] : a < b;
      });
      for (Index i = 0; i < size; ++i)
        if (const char now = i < n; now != is_taken_[by[i]]) {
          (now ? added_ : removed_).push_back(by[i]);
          is_taken_[by[i]] = now;
        }
    }
    constexpr Index grain = 4096;
    parallel_for(sums_.rows, grain, [&](Index begin, Index end) {
      for (const Index c : added_) {
        const float* from = sums_.column(c);
        for (Index r = begin; r < end; ++r) gain_[r] += from[r];
      }
      for (const Index c : removed_) {
        const float* from = sums_.column(c);
        for (Index r = begin; r < end; ++r) gain_[r] -= from[r];
      }
    });
  }

  const RowSums& sums_;
  Index n_, m_, v_, chunks_;
  std::vector<float> gain_, spread_, average_;  // per row
  std::vector<float> totals_;                   // of the group, per column
  std::vector<char> is_taken_;
  std::vector<Index> added_, removed_;
};

// A hundredth of the difference that a row's group makes: smaller steps take longer for almost no
// gain.
float auction_step(const std::vector<float>& values, Index rows, Index groups) {
  double sum = 0;
  for (Index r = 0; r < rows; ++r) {
    const auto [least, most] =
        std::minmax_element(values.begin() + r * groups, values.begin() + (r + 1) * groups);
    sum += *most - *least;
  }
  return static_cast<float>(0.01 * sum / static_cast<double>(rows));
}

std::vector<Index> regroup(const Groups& groups, const Groups::Kept& kept, Index rows, Index v) {
  const std::vector<float> values = groups.values(kept);
  const float step = auction_step(values, rows, groups.count());
  std::vector<Index> order(rows);
  std::iota(order.begin(), order.end(), Index{0});
  if (!(step > 0)) return order;
  const std::vector<Index> group_of = balanced_groups(values, rows, groups.count(), v, step);
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return group_of[a] < group_of[b]; });
  return order;
}

}  // namespace

bool RowPermutation::moves() const { return !std::is_sorted(rows.begin(), rows.end()); }

RowPermutation row_permutation(const Dense& x, const NmgvFit& fit) {
  RowPermutation out;
  out.rows.resize(x.extents[0]);
  std::iota(out.rows.begin(), out.rows.end(), Index{0});
  if (x.size() == 0) return out;
  const RowSums sums = sums_of_rows(x, fit.w);
  if (!(sums.all > 0)) return out;
  const Groups groups(sums, fit);
  out.before = out.after = groups.keep(out.rows).share;
  if (fit.tiles.n == fit.tiles.m || groups.count() == 1) return out;

  constexpr int max_rounds = 20;
  constexpr double least_gain = 1e-4;
  // The table [rows, groups] of values takes too much memory for small groups of many rows.
  const bool has_table = groups.count() <= 4 * sums.columns;
  std::vector<Index> order = Greedy(sums, fit).run();
  for (int round = 0; round < max_rounds; ++round) {
    const Groups::Kept kept = groups.keep(order);
    const double gain = kept.share / out.after - 1;
    // Smaller gains may be rounding errors.
    if (gain > 1e-6) {
      out.after = kept.share;
      out.rows = order;
    }
    if ((round > 0 && gain < least_gain) || !has_table) break;
    order = regroup(groups, kept, sums.rows, fit.v);
  }
  return out;
}

}  // namespace sten
