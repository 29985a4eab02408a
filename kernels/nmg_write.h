// SPDX-License-Identifier: Apache-2.0
// Packs a chunk of n:m:g without padding, whose strips have their patterns.
#pragma once
#include "kernels/nmg_exact.h"

namespace sten::kernels {

// Elements x[r * row_stride + s * col_stride], 0 <= r < m and 0 <= s < strips.
template <class U>
struct NmgElements {
  const U* x;
  std::int64_t row_stride, col_stride;
};

// Writes values[count, g, n] and index[count, g], the strips of each pattern in ascending order.
// pattern_of[strips] has each pattern g times. next: scratch [count]. U: unsigned integer of 1, 2,
// 4 or 8 bytes. I: uint8_t if strips <= 256, else uint16_t.
template <class U, class I>
void nmg_write(const NmgFormat& format, const NmgElements<U>& in, const std::uint16_t* pattern_of,
               std::int32_t* next, U* values, I* index);

}  // namespace sten::kernels
