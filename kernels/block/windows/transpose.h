// SPDX-License-Identifier: Apache-2.0
// Transposition of matrices.
#pragma once
#include "kernels/block/each_element.h"
#include "kernels/block/maps/walk.h"

namespace sten::kernels {

// Transposes from[n, a, b] to to[n, b, a], plus bias[a] unless it is nullptr.
struct TransposedTiles {
  std::int64_t n, a, b;
  const float* from;
  const float* bias;
  float* to;

  STEN_DEVICE float with_bias(float v, std::int64_t i) const { return bias ? v + bias[i] : v; }
};

// For narrow matrices with fewer than 2^31 elements.
struct TransposeElements {
  TransposedTiles of;
  Divisor a, b;

  explicit TransposeElements(const TransposedTiles& t) : of(t), a(t.a), b(t.b) {}
  STEN_DEVICE void operator()(std::uint32_t e) const {
    const std::uint32_t line = a.quotient(e), i = e - line * a.by;
    const std::uint32_t n = b.quotient(line), j = line - n * b.by;
    of.to[e] = of.with_bias(of.from[(n * a.by + i) * b.by + j], i);
  }
};

// A block transposes a tile in shared memory, so that reads and writes are coalesced. The rows of
// the tile are padded by one element to avoid bank conflicts.
struct TransposeTiles {
  static constexpr int threads = 256, tile = 64, row = tile + 1;
  static constexpr int at_once = threads / tile, turns = tile / at_once;
  TransposedTiles of;

  STEN_HOST_DEVICE static std::int64_t tiles_of(std::int64_t n) { return (n + tile - 1) / tile; }
  std::int64_t blocks() const { return of.n * tiles_of(of.a) * tiles_of(of.b); }
  std::size_t shared_bytes() const {
    CountingBlock b;
    b.shared<float>(tile * row);
    return b.used();
  }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    auto shared = b.template shared<float>(tile * row);
    const std::int64_t across = tiles_of(of.b), line = block / across;
    const std::int64_t n = line / tiles_of(of.a);
    const std::int64_t i0 = (line - n * tiles_of(of.a)) * tile, j0 = (block - line * across) * tile;
    const int rows = of.a - i0 < tile ? static_cast<int>(of.a - i0) : tile;
    const int columns = of.b - j0 < tile ? static_cast<int>(of.b - j0) : tile;
    const float* from = of.from + (n * of.a + i0) * of.b + j0;
    float* to = of.to + (n * of.b + j0) * of.a + i0;
    b.for_each_thread([&](int t) {
      const int j = t % tile, first = t / tile;
      STEN_UNROLL(turns)
      for (int k = 0; k < turns; ++k) {
        const int i = first + k * at_once;
        if (i < rows && j < columns) shared[i * row + j] = from[i * of.b + j];
      }
    });
    b.for_each_thread([&](int t) {
      const int i = t % tile, first = t / tile;
      if (i >= rows) return;
      const float add = of.bias ? of.bias[i0 + i] : 0;
      STEN_UNROLL(turns)
      for (int k = 0; k < turns; ++k) {
        const int j = first + k * at_once;
        if (j >= columns) continue;
        const float v = shared[i * row + j];
        to[j * of.a + i] = of.bias ? v + add : v;
      }
    });
  }
};

template <class Grid>
void transpose_matrices(Grid& grid, const TransposedTiles& of) {
  constexpr std::int64_t narrow = 16, most = (std::int64_t{1} << 31) - 1;
  const std::int64_t all = of.n * of.a * of.b;
  if (all == 0) return;
  if ((of.a < narrow || of.b < narrow) && all <= most)
    grid.launch(EachElement<TransposeElements>{TransposeElements(of), all});
  else
    grid.launch(TransposeTiles{of});
}

}  // namespace sten::kernels
