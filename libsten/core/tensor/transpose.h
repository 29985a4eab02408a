// SPDX-License-Identifier: Apache-2.0
// Transposition of small matrices with 16-byte vectors, which every 64-bit processor has.
#pragma once
#include <cstring>
#include <utility>

#include "libsten/core/base/shape.h"

namespace sten {
namespace transpose_detail {

template <class U>
struct Square {
  static constexpr Index size = 16 / sizeof(U);
  typedef U Vec __attribute__((vector_size(16)));

  // Interleaves the halves of a and b that start at `from`: a b a b ...
  template <Index from, int... i>
  static Vec interleave(Vec a, Vec b, std::integer_sequence<int, i...>) {
    return __builtin_shufflevector(a, b, (from + i / 2 + i % 2 * size)...);
  }

  static void transpose(const U* x, Index stride, U* out, Index to_stride) {
    constexpr std::make_integer_sequence<int, size> each;
    Vec rows[size], next[size];
    for (Index r = 0; r < size; ++r) std::memcpy(&rows[r], x + r * stride, 16);
    // Interleaves the first half of the rows with the second half.
    for (Index step = 1; step < size; step *= 2) {
      for (Index r = 0; r < size / 2; ++r) {
        next[2 * r] = interleave<0>(rows[r], rows[r + size / 2], each);
        next[2 * r + 1] = interleave<size / 2>(rows[r], rows[r + size / 2], each);
      }
      for (Index r = 0; r < size; ++r) rows[r] = next[r];
    }
    for (Index r = 0; r < size; ++r) std::memcpy(out + r * to_stride, &rows[r], 16);
  }
};

}  // namespace transpose_detail

// Computes out[c * to_stride + r] = x[r * stride + c] for x[rows, cols]. U has 1, 2, 4 or 8 bytes.
template <class U>
void transpose(const U* x, Index stride, Index rows, Index cols, U* out, Index to_stride) {
  using Square = transpose_detail::Square<U>;
  constexpr Index size = Square::size;
  Index r = 0;
  for (; r + size <= rows; r += size) {
    Index c = 0;
    for (; c + size <= cols; c += size)
      Square::transpose(x + r * stride + c, stride, out + c * to_stride + r, to_stride);
    for (; c < cols; ++c)
      for (Index i = r; i < r + size; ++i) out[c * to_stride + i] = x[i * stride + c];
  }
  for (; r < rows; ++r)
    for (Index c = 0; c < cols; ++c) out[c * to_stride + r] = x[r * stride + c];
}

}  // namespace sten
