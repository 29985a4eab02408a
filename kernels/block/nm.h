// SPDX-License-Identifier: Apache-2.0
// NmFunctions (functions.h) over a Grid: a thread handles a few blocks of m of a row.
#pragma once
#include "kernels/block/each_element.h"
#include "kernels/block/nm_select.h"

namespace sten::kernels {

// Bits of a stored position.
inline int nm_position_bits(std::int64_t m) {
  return std::bit_width(static_cast<std::uint64_t>(m - 1));
}

// values [lines, blocks, n] and pos [lines, row_bytes], and their division into segments. The bits
// of consecutive blocks are contiguous, so a thread takes as many blocks as fill whole bytes.
struct NmParts {
  NmUnits units;
  std::int64_t n, row_bytes;
  int position_bits;

  static NmParts of(const BlockMatrix& matrix, std::int64_t n, std::int64_t m,
                    std::int64_t row_bytes) {
    const int width = nm_position_bits(m);
    std::int64_t at_once = 8;
    while (at_once > 1 && n * width * (at_once / 2) % 8 == 0) at_once /= 2;
    return {NmUnits::of(matrix, m, at_once), n, row_bytes, width};
  }
};

// A contiguous array of unsigned integers of a few bits, least significant first.
struct PackedBits {
  std::uint64_t word = 0;
  int bits = 0;

  STEN_DEVICE std::uint8_t* put(std::uint8_t* to, std::uint64_t v, int width) {
    word |= v << bits;
    for (bits += width; bits >= 8; bits -= 8, word >>= 8) *to++ = static_cast<std::uint8_t>(word);
    return to;
  }
  STEN_DEVICE std::int64_t get(const std::uint8_t*& from, int width) {
    for (; bits < width; bits += 8) word |= std::uint64_t{*from++} << bits;
    const std::uint64_t v = word & ((std::uint64_t{1} << width) - 1);
    word >>= width;
    bits -= width;
    return static_cast<std::int64_t>(v);
  }
};

template <class U>
struct NmPack {
  NmParts parts;
  BlockMatrix matrix;
  const U* x;
  const std::uint8_t* bits;
  U* values;
  std::uint8_t* pos;

  STEN_DEVICE void operator()(std::int64_t u) const {
    const NmUnits::Unit unit = parts.units.at(matrix, u);
    const std::int64_t n = parts.n, m = parts.units.m;
    U* to = values + (unit.line * parts.units.per_line + unit.block) * n;
    std::uint8_t* code =
        pos + unit.line * parts.row_bytes + unit.block * n * parts.position_bits / 8;
    PackedBits packed;
    for (std::int64_t c = 0; c < unit.cols; c += m) {
      const std::int64_t start = unit.offset + c * matrix.col_stride;
      const std::int64_t size = unit.cols - c < m ? unit.cols - c : m;
      const auto is_kept = [&](std::int64_t p) {
        return p < size && bit_of(bits, start + p * matrix.col_stride);
      };
      std::int64_t fillers = n;
      for (std::int64_t p = 0; p < size; ++p) fillers -= is_kept(p);
      U* const end = to + n;
      for (std::int64_t p = 0; p < m && to < end; ++p) {
        const bool keeps = is_kept(p);
        if (!keeps && fillers <= 0) continue;
        fillers -= !keeps;
        code = packed.put(code, static_cast<std::uint64_t>(p), parts.position_bits);
        *to++ = keeps ? x[start + p * matrix.col_stride] : U{0};
      }
      to = end;
    }
    if (packed.bits > 0) *code = static_cast<std::uint8_t>(packed.word);
  }
};

// whole: m, if a block of m can be stored as one vector; else 0.
template <class U, int whole>
struct NmUnpack {
  using Element = U;
  struct alignas(whole * sizeof(U) < 16 ? whole * sizeof(U) : 16) Whole {
    U at[whole ? whole : 1];
  };
  NmParts parts;
  BlockMatrix matrix;
  const U* values;
  const std::uint8_t* pos;
  U* out;

  STEN_DEVICE void operator()(std::int64_t u) const {
    const NmUnits::Unit unit = parts.units.at(matrix, u);
    const std::int64_t n = parts.n, m = parts.units.m;
    const U* from = values + (unit.line * parts.units.per_line + unit.block) * n;
    const std::uint8_t* code =
        pos + unit.line * parts.row_bytes + unit.block * n * parts.position_bits / 8;
    PackedBits packed;
    U* to = out + unit.offset;
    for (std::int64_t c = 0; c < unit.cols; c += m, from += n) {
      const std::int64_t size = unit.cols - c < m ? unit.cols - c : m;
      std::int64_t i = 0, next = packed.get(code, parts.position_bits);
      const auto take = [&](std::int64_t p) {
        if (p != next) return U{0};
        const U v = from[i];
        next = ++i < n ? packed.get(code, parts.position_bits) : m;
        return v;
      };
      if constexpr (whole != 0) {
        if (size == whole) {
          Whole block;
          for (int p = 0; p < whole; ++p) block.at[p] = take(p);
          *reinterpret_cast<Whole*>(to) = block;
          to += whole;
          continue;
        }
      }
      // Positions in padding are the last of the row.
      for (std::int64_t p = 0; p < size; ++p, to += matrix.col_stride) *to = take(p);
    }
  }
};

template <class Grid>
struct NmOn {
  // Whether all whole blocks are aligned for vector stores.
  template <class Unpack>
  static bool is_whole(const BlockMatrix& matrix, const void* out) {
    constexpr auto bytes = static_cast<std::int64_t>(alignof(typename Unpack::Whole));
    constexpr auto width = static_cast<std::int64_t>(sizeof(typename Unpack::Element));
    bool is = matrix.col_stride == 1 && matrix.row_stride * width % bytes == 0 &&
              reinterpret_cast<std::uintptr_t>(out) % bytes == 0;
    for (int d = 0; d < matrix.dims; ++d) is = is && matrix.stride[d] * width % bytes == 0;
    return is;
  }

  static void select(const BlockMatrix& matrix, std::int64_t n, std::int64_t m, Elements x,
                     FloatKind kind, std::uint8_t* bits, Stream stream) {
    with_keys(kind, [&]<class K>(K) {
      nm_select(Grid(stream), matrix, n, m, static_cast<const typename K::Bits*>(x.x),
                K::first_not_finite, bits);
    });
  }
  static void pack(const BlockMatrix& matrix, std::int64_t n, std::int64_t m, Elements x,
                   const std::uint8_t* bits, void* values, std::uint8_t* pos,
                   std::int64_t row_bytes, Stream stream) {
    with_unsigned(x.width, [&]<class U>(U) {
      const NmParts parts = NmParts::of(matrix, n, m, row_bytes);
      launch_threads(
          Grid(stream), parts.units.count(),
          NmPack<U>{parts, matrix, static_cast<const U*>(x.x), bits, static_cast<U*>(values), pos});
    });
  }
  static void unpack(const BlockMatrix& matrix, std::int64_t n, std::int64_t m, const void* values,
                     int width, const std::uint8_t* pos, std::int64_t row_bytes, void* out,
                     Stream stream) {
    with_unsigned(width, [&]<class U>(U) {
      const NmParts parts = NmParts::of(matrix, n, m, row_bytes);
      const auto* from = static_cast<const U*>(values);
      auto* to = static_cast<U*>(out);
      const std::int64_t units = parts.units.count();
      if (m == 4 && is_whole<NmUnpack<U, 4>>(matrix, to))
        launch_threads(Grid(stream), units, NmUnpack<U, 4>{parts, matrix, from, pos, to});
      else if (m == 8 && is_whole<NmUnpack<U, 8>>(matrix, to))
        launch_threads(Grid(stream), units, NmUnpack<U, 8>{parts, matrix, from, pos, to});
      else
        launch_threads(Grid(stream), units, NmUnpack<U, 0>{parts, matrix, from, pos, to});
    });
  }
};

template <class Grid>
NmFunctions nm_functions() {
  using On = NmOn<Grid>;
  return {On::select, On::pack, On::unpack};
}

}  // namespace sten::kernels
