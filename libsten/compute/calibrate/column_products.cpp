// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/calibrate/column_products.h"

#include <algorithm>

#include "kernels/panels.h"
#include "libsten/compute/linalg/gram_product.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/tensor/transpose.h"

namespace sten {
namespace {

using kernels::panel_width;

constexpr Index block = 192;  // rows of C in a task

Index panels_of(Index n) { return ceil_div(n, panel_width); }

}  // namespace

Columns::Columns(Index rows, Index n, const float* x)
    : rows_(rows),
      transposed_(Array<float>::uninitialized(n * rows)),
      panels_(panels_of(n) * rows * panel_width) {
  float *const turned = transposed_.mutate(), *const panels = panels_.mutate();
  parallel_for(panels_of(n), 1, [&](Index first, Index last) {
    for (Index p = first; p < last; ++p) {
      const Index at = p * panel_width, count = std::min(panel_width, n - at);
      transpose(x + at, n, rows, count, turned + at * rows, rows);
      for (Index r = 0; r < rows; ++r)
        std::copy_n(x + r * n + at, count, panels + (p * rows + r) * panel_width);
    }
  });
}

ColumnProducts::ColumnProducts(Index n, bool is_gram)
    : n_(n), is_gram_(is_gram), sums_(panels_of(n) * n * panel_width) {}

Index ColumnProducts::rows_of(Index panel) const {
  return is_gram_ ? std::min(n_, (panel + 1) * panel_width) : n_;
}

void ColumnProducts::add(const Columns& a, const Columns& b) {
  const Index depth = a.rows_, blocks = ceil_div(n_, block);
  const float *const left = a.transposed_.data(), *const right = b.panels_.data();
  float* const sums = sums_.mutate();
  parallel_for(panels_of(n_) * blocks, 1, [&](Index first, Index last) {
    for (Index task = first; task < last; ++task) {
      const Index p = task / blocks, i = task % blocks * block,
                  rows = std::min(block, rows_of(p) - i);
      if (rows > 0)
        kernels::panels().multiply(left + i * depth, depth, rows, depth,
                                   right + p * depth * panel_width, true,
                                   sums + (p * n_ + i) * panel_width);
    }
  });
}

void ColumnProducts::write(float* c) const {
  const float* sums = sums_.data();
  for (Index p = 0; p < panels_of(n_); ++p)
    for (Index i = 0; i < rows_of(p); ++i)
      std::copy_n(sums + (p * n_ + i) * panel_width, std::min(panel_width, n_ - p * panel_width),
                  c + i * n_ + p * panel_width);
  if (is_gram_) mirror_gram(n_, c);
}

}  // namespace sten
