// What n:m:g stores of a chunk without padding whose strips have their patterns.
#pragma once
#include "kernels/nmg_exact.h"

namespace sten::kernels {

// Elements x[r * row_stride + s * col_stride], 0 <= r < m and 0 <= s < strips.
template <class U>
struct NmgElements {
  const U* x;
  std::int64_t row_stride, col_stride;
};

// values[count, g, n] and index[count, g], the strips of each pattern in ascending order, from
// pattern_of[strips] in which each pattern is g times. next: scratch [count]. U is an unsigned
// integer of 1, 2, 4 or 8 bytes, I uint8_t where strips <= 256, else uint16_t.
template <class U, class I>
void nmg_write(const NmgFormat& format, const NmgElements<U>& in, const std::uint16_t* pattern_of,
               std::int32_t* next, U* values, I* index);

}  // namespace sten::kernels
