// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/chooser.h"

#include <cmath>
#include <numeric>

#include "libsten/core/base/error.h"
#include "libsten/core/layout/nmg_patterns.h"
#include "libsten/core/layout/nmgv.h"
#include "libsten/core/registry/registry.h"
#include "libsten/core/registry/structure.h"

namespace sten::calibrate {
namespace {

Index step_of(const Spec& by, bool transposed) {
  const bool grouped = by.is("nmg") || by.is("nmgv");
  const bool across = (by.integer("axis", grouped ? 0 : 1) == 1) != transposed;
  if (by.is("block-magnitude")) return by.integer(transposed ? "h" : "w", 4);
  if (by.is("nm")) return across ? by.integer("m", 4) : 1;
  if (!grouped) return 0;
  const Index n = by.integer("n", 1), m = by.integer("m", 4);
  const Index step = across ? m : PatternTable::get(n, m)->count() * by.integer("g", 1);
  if (!by.is("nmgv")) return step;
  return step * (transposed ? by.integer("v", 1) : by.integer("w", Nmgv::usual_w));
}

}  // namespace

Chooser::Chooser(const CalibratedOptions& options)
    : sparsifier_(registry().sparsifier(as_sparsifier(options.structure))),
      transposed_(options.transposed) {
  const Spec by = as_sparsifier(options.structure);
  if (options.by_row) {
    if (!by.is("magnitude"))
      fail_usage("row-wise sparsity needs the sparsifier magnitude, got {}", by.str());
    row_sparsity_ = by.number("sparsity", 0.5);
  }
  step_ = step_of(by, options.transposed);
}

template <class T>
Kept Chooser::choose(const Matrix<T>& ranks) const {
  if (row_sparsity_ >= 0) return choose_by_row(ranks);
  const Matrix<T> given_transposed = transposed_ ? transposed(ranks) : Matrix<T>();
  const Matrix<T>& a = transposed_ ? given_transposed : ranks;
  const Mask mask = sparsifier_.select(to_dense(a, dtype_of<T>, {a.rows, a.cols}));
  Kept kept(static_cast<std::size_t>(a.rows * a.cols));
  for_row_blocks(ranks.rows, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r)
      for (Index c = 0; c < ranks.cols; ++c)
        kept[r * ranks.cols + c] = mask[transposed_ ? c * ranks.rows + r : r * ranks.cols + c];
  });
  return kept;
}

template <class T>
Kept Chooser::choose_by_row(const Matrix<T>& ranks) const {
  Kept kept(static_cast<std::size_t>(ranks.rows * ranks.cols), 1);
  const Index removed = std::llround(row_sparsity_ * static_cast<double>(ranks.cols));
  for_row_blocks(ranks.rows, [&](Index begin, Index end) {
    std::vector<Index> order(ranks.cols);
    for (Index r = begin; r < end; ++r) {
      std::iota(order.begin(), order.end(), Index{0});
      const T* rank = ranks.row(r);
      // Among equal ranks, later elements are pruned first, as in all sparsifiers.
      std::nth_element(order.begin(), order.begin() + removed, order.end(), [&](Index a, Index b) {
        return rank[a] != rank[b] ? rank[a] < rank[b] : a > b;
      });
      for (Index i = 0; i < removed; ++i) kept[r * ranks.cols + order[i]] = 0;
    }
  });
  return kept;
}

template Kept Chooser::choose(const Matrix<float>&) const;
template Kept Chooser::choose(const Matrix<double>&) const;

}  // namespace sten::calibrate
