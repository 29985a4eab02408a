// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/column_products.h"

#include <algorithm>

#include "kernels/panels.h"
#include "libsten/compute/linalg/gram_product.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/tensor/transpose.h"

namespace sten {
namespace {

using kernels::panel_width;

constexpr Index rows_per_task = 192;  // of C

Index panel_count(Index n) { return ceil_div(n, panel_width); }

}  // namespace

Columns::Columns(Index rows, Index n, const float* x)
    : rows_(rows),
      n_(n),
      transposed_(Array<float>::uninitialized(n * rows)),
      panels_(panel_count(n) * rows * panel_width) {
  if (rows == 0) return;
  float *const to = transposed_.mutate(), *const panels = panels_.mutate();
  parallel_for(panel_count(n), 1, [&](Index first, Index last) {
    for (Index p = first; p < last; ++p) {
      const Index at = p * panel_width, count = std::min(panel_width, n - at);
      transpose(x + at, n, rows, count, to + at * rows, rows);
      for (Index r = 0; r < rows; ++r)
        std::copy_n(x + r * n + at, count, panels + (p * rows + r) * panel_width);
    }
  });
}

ColumnProducts::ColumnProducts(Index n, bool is_gram)
    : n_(n), is_gram_(is_gram), sums_(panel_count(n) * n * panel_width) {}

Index ColumnProducts::rows_of(Index panel) const {
  return is_gram_ ? std::min(n_, (panel + 1) * panel_width) : n_;
}

void ColumnProducts::add(const Columns& a, const Columns& b) {
  if (a.n_ != n_ || b.n_ != n_ || a.rows_ != b.rows_)
    fail_usage("columns of matrices [{},{}] and [{},{}] do not match the sum of {} columns",
               a.rows_, a.n_, b.rows_, b.n_, n_);
  if (a.rows_ == 0) return;
  const Index depth = a.rows_, blocks = ceil_div(n_, rows_per_task);
  const float *const left = a.transposed_.data(), *const right = b.panels_.data();
  float* const sums = sums_.mutate();
  parallel_for(panel_count(n_) * blocks, 1, [&](Index first, Index last) {
    for (Index task = first; task < last; ++task) {
      const Index p = task / blocks, i = task % blocks * rows_per_task,
                  rows = std::min(rows_per_task, rows_of(p) - i);
      if (rows > 0)
        kernels::panels().multiply(left + i * depth, depth, rows, depth,
                                   right + p * depth * panel_width, true,
                                   sums + (p * n_ + i) * panel_width);
    }
  });
}

void ColumnProducts::write(float* c) const {
  const float* sums = sums_.data();
  for (Index p = 0; p < panel_count(n_); ++p)
    for (Index i = 0; i < rows_of(p); ++i)
      std::copy_n(sums + (p * n_ + i) * panel_width, std::min(panel_width, n_ - p * panel_width),
                  c + i * n_ + p * panel_width);
  if (is_gram_) mirror_gram(n_, c);
}

}  // namespace sten
