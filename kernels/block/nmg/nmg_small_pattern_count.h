// SPDX-License-Identifier: Apache-2.0
// n:m:g fits with a small pattern count, by one warp per chunk. A chunk is read once, fitted
// (nmg_warp.h), and written (nmg_small_pattern_count_output.h) from shared memory and registers.
// Chunks that need 64-bit magnitudes are left to a second kernel with more registers per warp, and
// ragged chunks to other kernels.
#pragma once
#include <utility>

#include "kernels/block/functions.h"
#include "kernels/block/nmg/nmg_matching.h"
#include "kernels/block/nmg/nmg_small_pattern_count_output.h"
#include "kernels/block/nmg/nmg_warp.h"

namespace sten::kernels {

// Whether these kernels support the format and type.
inline bool nmg_has_small_pattern_count(const NmgFormat& f, FloatKind kind) {
  return f.count >= 2 && f.count <= max_small_pattern_count && f.strips() <= 128 &&
         kind != FloatKind::f64;
}

inline NmgSmallPatternCount nmg_small_pattern_count(const NmgFormat& f) {
  NmgSmallPatternCount small{};
  small.n = static_cast<std::int32_t>(f.n), small.m = static_cast<std::int32_t>(f.m);
  small.count = static_cast<std::int32_t>(f.count), small.g = static_cast<std::int32_t>(f.g);
  small.per_strips = 1.0 / static_cast<double>(f.strips());
  small.per_g = 1.0 / static_cast<double>(10 * f.g);
  for (std::uint32_t rows = 0; rows < std::uint32_t{1} << f.m; ++rows) {
    if (std::popcount(rows) != f.n) continue;
    std::uint8_t row[8] = {};
    for (std::int32_t r = 0, i = 0; r < f.m; ++r)
      if (rows >> r & 1) row[i++] = static_cast<std::uint8_t>(r);
    const std::int32_t p = nmg_rank(row, f.n, f.m, f.count);
    small.rows |= std::uint64_t{rows} << 8 * p;
    for (int i = 0; i < 8; ++i) small.row[p][i] = row[i];
  }
  return small;
}

// Offsets of chunks, in 32 bits if there are few enough.
struct NmgSmallPatternCountUnits {
  std::uint32_t chunks, row_blocks;
  std::uint32_t ragged_row, ragged_col;  // the last row block and chunk if they are ragged
  std::int64_t down, right;              // distance of chunks

  static NmgSmallPatternCountUnits of(const NmgFormat& f, const BlockMatrix& matrix) {
    const auto chunks = static_cast<std::uint32_t>((matrix.cols + f.strips() - 1) / f.strips());
    const auto row_blocks = static_cast<std::uint32_t>((matrix.rows + f.m - 1) / f.m);
    return {chunks,
            row_blocks,
            matrix.rows % f.m ? row_blocks - 1 : row_blocks,
            matrix.cols % f.strips() ? chunks - 1 : chunks,
            f.m * matrix.row_stride,
            f.strips() * matrix.col_stride};
  }
};

// An element of any type but f32 as its bits.
STEN_DEVICE inline std::uint32_t load_bits(const void* x, FloatKind kind, std::int64_t i) {
  return width_of(kind) == 2 ? static_cast<const std::uint16_t*>(x)[i]
                             : static_cast<const std::uint8_t*>(x)[i];
}
STEN_DEVICE inline float decode_bits(FloatKind kind, std::uint32_t bits) {
  switch (kind) {
    case FloatKind::f16:
      return FloatBits<FloatKind::f16>::decode(static_cast<std::uint16_t>(bits));
    case FloatKind::bf16:
      return FloatBits<FloatKind::bf16>::decode(static_cast<std::uint16_t>(bits));
    case FloatKind::f8_e4m3:
      return FloatBits<FloatKind::f8_e4m3>::decode(static_cast<std::uint8_t>(bits));
    default:
      return FloatBits<FloatKind::f8_e5m2>::decode(static_cast<std::uint8_t>(bits));
  }
}

// Units left over for other kernels. `of` [units] is 0, `ragged` or `wide`; `count` is the number
// of each.
struct NmgLeft {
  static constexpr std::uint8_t ragged = 1, wide = 2;
  std::uint8_t* of;
  std::uint32_t* count;  // [3], incremented
};

// For at most C patterns and 32 K strips, and for n:m = N:M unless N is 0. The kernel for int64_t
// handles the chunks that the kernel for int32_t has left as `wide`.
template <int C, int K, int N = 0, int M = 0, class T = std::int32_t>
struct NmgSmallPatternCountKernel {
  static constexpr int threads = 32;
  static constexpr bool is_wide = sizeof(T) == 8;
  NmgSmallPatternCount f;
  NmgSmallPatternCountUnits units;
  BlockMatrix matrix;
  const void* x;
  FloatKind kind;
  NmgParts to;
  NmgLeft left;

  static constexpr int width = 32 * K;
  template <class Block>
  using Output = NmgSmallPatternCountOutput<C, K, Block, N, M>;

  STEN_HOST_DEVICE int n() const { return N > 0 ? N : f.n; }
  STEN_HOST_DEVICE int m() const { return N > 0 ? M : f.m; }
  STEN_HOST_DEVICE std::int64_t all() const {
    return matrix.batches * units.row_blocks * std::int64_t{units.chunks};
  }
  // Wide chunks are rare, so blocks share them.
  STEN_HOST_DEVICE std::int64_t blocks() const {
    constexpr std::int64_t most = 2048;
    return is_wide && all() > most ? most : all();
  }
  std::size_t shared_bytes() const {
    CountingBlock count(threads);
    const NmgWarpFit<C, K, CountingBlock, N, M, T> fit(count, f);
    const Output<CountingBlock> output(count, f);
    return count.used();
  }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    if constexpr (is_wide)
      prune_wide(b, block);
    else
      prune_unit(b, block);
  }

 private:
  struct ChunkLocation {
    std::int64_t offset;
    bool is_ragged;
  };
  STEN_DEVICE ChunkLocation place(std::int64_t u) const {
    const auto unit = static_cast<std::uint32_t>(u), above = unit / units.chunks;
    const std::uint32_t col = unit - above * units.chunks;
    std::uint32_t row = above;
    std::int64_t offset = 0;
    if (matrix.dims > 0) {
      row = above % units.row_blocks;
      offset = matrix.batch_offset(above / units.row_blocks);
    }
    offset += row * units.down + col * units.right;
    return {offset, row == units.ragged_row || col == units.ragged_col};
  }
  template <class Block>
  STEN_DEVICE void prune_unit(Block& b, std::int64_t u) const {
    const ChunkLocation at = place(u);
    const bool is_done = !at.is_ragged && prune(b, u, at.offset);
    const std::uint8_t what = is_done ? 0 : at.is_ragged ? NmgLeft::ragged : NmgLeft::wide;
    b.for_each_thread([&](int t) {
      if (t != 0) return;
      left.of[u] = what;
      if (what != 0) b.add_global(left.count + what, std::uint32_t{1});
    });
  }
  template <class Block>
  STEN_DEVICE void prune_wide(Block& b, std::int64_t block) const {
    if (left.count[NmgLeft::wide] == 0) return;
    const std::int64_t end = all();
    STEN_UNROLL(1) for (std::int64_t first = 32 * block; first < end; first += 32 * blocks()) {
      std::uint32_t found =
          b.votes([&](int t) { return first + t < end && left.of[first + t] == NmgLeft::wide; });
      STEN_UNROLL(1) for (; found != 0; found &= found - 1) {
        const std::int64_t u = first + lowest_bit(found);
        const std::size_t mark = b.mark();
        prune(b, u, place(u).offset);
        b.reset(mark);
      }
    }
  }

  // Fits and writes the chunk at `offset`; returns false if it needs another kernel.
  template <class Block>
  STEN_DEVICE bool prune(Block& b, std::int64_t u, std::int64_t offset) const {
    using Fit = NmgWarpFit<C, K, Block, N, M, T>;
    Fit fit(b, f);
    Output<Block> out(b, f);
    auto lanes = b.template per_thread<typename Fit::Lane>();
    if constexpr (is_wide)
      load_wide(b, fit, out, offset);
    else if (!load(b, fit, out, offset))
      return false;
    fit.run(lanes);
    out.write(lanes, u, offset, matrix, kind, to);
    return true;
  }

  // Loads 64-bit magnitudes, with the scale of nmg_with_counts().
  template <class Block, class Fit>
  STEN_DEVICE void load_wide(Block& b, Fit& fit, Output<Block>& out, std::int64_t offset) const {
    const auto magnitudes = fit.magnitudes();
    const auto magnitude = [&](int i) {
      const std::uint32_t bits = out.raw[i];
      const float v = kind == FloatKind::f32 ? std::bit_cast<float>(bits) : decode_bits(kind, bits);
      return std::isnan(v) ? static_cast<double>(INFINITY) : double{std::abs(v)};
    };
    const auto each = [&](int t, auto&& g) {
      STEN_UNROLL(1) for (int r = 0; r < m(); ++r) {
        STEN_UNROLL(1) for (int k = 0; k < K; ++k) g(r, k * 32 + t);
      }
    };
    b.for_each_thread([&](int t) {
      each(t, [&](int r, int s) {
        const std::int64_t i = offset + r * matrix.row_stride + s * matrix.col_stride;
        std::uint32_t bits = 0;
        if (s < f.strips())
          bits = kind == FloatKind::f32 ? static_cast<const std::uint32_t*>(x)[i]
                                        : load_bits(x, kind, i);
        out.raw[r * width + s] = bits;
      });
    });
    const double finite = b.fold(
        [&](int t) {
          double most = 0;
          each(t, [&](int r, int s) {
            const double v = magnitude(r * width + s);
            if (!std::isinf(v) && v > most) most = v;
          });
          return most;
        },
        [](double v, double w) { return v < w ? w : v; });
    const bool has_infinity = b.votes([&](int t) {
      bool any = false;
      each(t, [&](int r, int s) { any |= std::isinf(magnitude(r * width + s)); });
      return any;
    });
    const NmgWideScale scale(finite, has_infinity, n(), f.count);
    b.for_each_thread([&](int t) {
      each(t, [&](int r, int s) { magnitudes[r * width + s] = scale(magnitude(r * width + s)); });
    });
  }

  // Loads 32-bit magnitudes; returns false if they do not suffice.
  template <class Block, class Fit>
  STEN_DEVICE bool load(Block& b, Fit& fit, Output<Block>& out, std::int64_t offset) const {
    auto most = b.template per_thread<std::uint32_t>();
    auto least =
        b.template per_thread<std::uint32_t>();  // minus 1, so that zeros become the greatest
    const auto magnitudes = fit.magnitudes();
    // First as floats.
    const auto read = [&](int t, auto&& bits_at, auto&& decode) {
      most(t) = 0;
      least(t) = ~0u;
      const std::int64_t at = offset + t * matrix.col_stride, next = 32 * matrix.col_stride;
      for (int r = 0; r < m(); ++r) {
        std::int64_t i = at + r * matrix.row_stride;
        for (int k = 0; k < K; ++k, i += next) {
          const int s = k * 32 + t;
          const std::uint32_t bits = s < f.strips() ? bits_at(i) : 0;
          const std::uint32_t v = std::bit_cast<std::uint32_t>(float{decode(bits)}) & 0x7fffffffu;
          out.raw[r * width + s] = bits;
          magnitudes[r * width + s] = static_cast<std::int32_t>(v);
          if (v > most(t)) most(t) = v;
          if (v - 1 < least(t)) least(t) = v - 1;
        }
      }
    };
    b.for_each_thread([&](int t) {
      if (kind == FloatKind::f32)
        read(
            t, [&](std::int64_t i) { return static_cast<const std::uint32_t*>(x)[i]; },
            [](std::uint32_t bits) { return std::bit_cast<float>(bits); });
      else
        read(
            t, [&](std::int64_t i) { return load_bits(x, kind, i); },
            [&](std::uint32_t bits) { return decode_bits(kind, bits); });
    });
    const std::uint32_t greatest = b.most([&](int t) { return most(t); });
    const std::uint32_t smallest = b.least([&](int t) { return least(t); }) + 1;
    const NmgRange range =
        NmgRange::of(std::bit_cast<float>(greatest), std::bit_cast<float>(smallest), n());
    if (range.is_wide) return false;
    b.for_each_thread([&](int t) {
      for (int r = 0; r < m(); ++r)
        for (int k = 0; k < K; ++k) {
          const int i = r * width + k * 32 + t;
          magnitudes[i] =
              nearest_int(std::bit_cast<float>(std::int32_t{magnitudes[i]}) * range.scale);
        }
    });
    return true;
  }
};

// Calls launch(C, K, N, M) with constants of the smallest instantiation that fits.
template <class F>
void with_small_pattern_count(const NmgFormat& f, F&& launch) {
  const auto with = [&]<int... form>(std::integer_sequence<int, form...>) {
    launch(std::integral_constant<int, form>{}...);
  };
  const std::int64_t strips = f.strips();
  if (f.n == 1 && f.m == 4 && strips <= 64)
    with(std::integer_sequence<int, 4, 2, 1, 4>{});
  else if (f.n == 2 && f.m == 4 && strips <= 96)
    with(std::integer_sequence<int, 6, 3, 2, 4>{});
  else if (f.count <= 4 && strips <= 64)
    with(std::integer_sequence<int, 4, 2, 0, 0>{});
  else if (f.count <= 4)
    with(std::integer_sequence<int, 4, 4, 0, 0>{});
  else if (f.count <= 6 && strips <= 96)
    with(std::integer_sequence<int, 6, 3, 0, 0>{});
  else
    with(std::integer_sequence<int, 8, 4, 0, 0>{});
}

// left.count is 0 before the call; ragged chunks are left over.
template <class Grid>
void nmg_prune_small_pattern_count(Grid& grid, const NmgFormat& f, const BlockMatrix& matrix,
                                   const void* x, FloatKind kind, const NmgParts& to,
                                   const NmgLeft& left) {
  with_small_pattern_count(f, [&]<class C, class K, class N, class M>(C, K, N, M) {
    const NmgSmallPatternCount small = nmg_small_pattern_count(f);
    const NmgSmallPatternCountUnits units = NmgSmallPatternCountUnits::of(f, matrix);
    grid.launch(NmgSmallPatternCountKernel<C::value, K::value, N::value, M::value>{
        small, units, matrix, x, kind, to, left});
    grid.launch(NmgSmallPatternCountKernel<C::value, K::value, N::value, M::value, std::int64_t>{
        small, units, matrix, x, kind, to, left});
  });
}

}  // namespace sten::kernels
