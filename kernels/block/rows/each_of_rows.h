// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels over a matrix that need row and column, without a 64-bit division per
// element.
#pragma once
#include "kernels/block/block.h"

namespace sten::kernels {

// Calls f(element, row, column). A block handles a few rows, or a segment of one row.
template <class F>
struct EachOfRows {
  static constexpr int threads = 256, at_once = 1024;
  std::int64_t rows, n;
  F f;

  STEN_HOST_DEVICE std::int64_t rows_each() const { return n < at_once ? at_once / n : 1; }
  STEN_HOST_DEVICE std::int64_t pieces() const { return (n + at_once - 1) / at_once; }
  std::int64_t blocks() const {
    return n == 0 ? 0 : (rows + rows_each() - 1) / rows_each() * pieces();
  }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    const std::int64_t part = block / pieces(), column0 = (block - part * pieces()) * at_once;
    const std::int64_t row0 = part * rows_each(), left = rows - row0;
    const auto columns = static_cast<std::uint32_t>(n - column0 < at_once ? n - column0 : at_once);
    const auto count =
        static_cast<std::uint32_t>(left < rows_each() ? left : rows_each()) * columns;
    b.for_each_thread([&](int t) {
      for (auto e = static_cast<std::uint32_t>(t); e < count; e += threads) {
        const std::uint32_t row = e / columns, column = e - row * columns;
        f((row0 + row) * n + column0 + column, row0 + row, column0 + column);
      }
    });
  }
};

}  // namespace sten::kernels
