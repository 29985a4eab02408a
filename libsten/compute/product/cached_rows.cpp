// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/cached_rows.h"

#include <algorithm>

#include "kernels/interleaved_panels.h"
#include "kernels/panels.h"

namespace sten {
namespace {

template <class T>
Array<T> zeros_in_arena(std::size_t n) {
  Array<T> all = Array<T>::uninitialized_in_arena(n, Arena::key_value_caches);
  std::fill_n(all.mutate(), n, T{});
  return all;
}

}  // namespace

CachedRows::CachedRows(DType dtype, Index rows) {
  const auto size = static_cast<std::size_t>(ceil_div(rows, 2) * 2 * panel_width);
  if (dtype == DType::BF16)
    interleaved_ = zeros_in_arena<std::uint16_t>(size);
  else
    floats_ = zeros_in_arena<float>(size);
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
  if (interleaved_.size() == 0)
    return kernels::panels().multiply(a, lda, count, n, floats_.data() + first * panel_width, false,
                                      c);
  kernels::interleaved_panels().multiply(a, lda, count, interleaved_.data(), first, n, c);
}

}  // namespace sten
