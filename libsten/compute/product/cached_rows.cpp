// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/cached_rows.h"

#include <algorithm>

#include "kernels/panels.h"
#include "libsten/core/base/scratch.h"

namespace sten {
namespace {

// Rows that are widened at a time, so that they stay in L1.
constexpr Index widened_rows = 64;

}  // namespace

CachedRows::CachedRows(DType dtype, Index rows) {
  const auto size = static_cast<std::size_t>(ceil_div(rows, 2) * 2 * panel_width);
  if (dtype == DType::BF16)
    interleaved_ = Array<std::uint16_t>(size);
  else
    floats_ = Array<float>(size);
}

Index CachedRows::bytes() const {
  return static_cast<Index>(floats_.size() * sizeof(float) +
                            interleaved_.size() * sizeof(std::uint16_t));
}

CachedRows::Writer CachedRows::writer() {
  Writer w;
  w.floats_ = floats_.size() > 0 ? floats_.mutate() : nullptr;
  w.interleaved_ = interleaved_.size() > 0 ? interleaved_.mutate() : nullptr;
  return w;
}

void CachedRows::multiply(const float* a, Index lda, Index count, Index first, Index n,
                          float* c) const {
  const kernels::PanelsTable& panels = kernels::panels();
  if (interleaved_.size() == 0)
    return panels.multiply(a, lda, count, n, floats_.data() + first * panel_width, false, c);
  thread_local Scratch memory;
  float* const wide = memory.of(widened_rows * panel_width);
  for (Index at = 0; at < n;) {
    const Index row = first + at, begin = row / 2 * 2;  // the first row of a pair
    const Index end = std::min(begin + widened_rows, first + n);
    kernels::interleaved().widen_features(interleaved_.data() + begin * panel_width,
                                          2 * panel_width, end - begin, panel_width, wide,
                                          panel_width);
    panels.multiply(a + at, lda, count, end - row, wide + (row - begin) * panel_width, at > 0, c);
    at = end - first;
  }
}

}  // namespace sten
