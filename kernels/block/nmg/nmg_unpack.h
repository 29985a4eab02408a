// SPDX-License-Identifier: Apache-2.0
// Unpacks n:m:g to all elements of a tensor, and gathers its values from them; a block of threads
// handles one chunk.
#pragma once
#include <type_traits>

#include "kernels/block/nmg/nmg_chunk.h"

namespace sten::kernels {

// U: bits of an element; I: type of the index; T: threads.
template <class U, class I, int T>
struct NmgUnpackKernel {
  static constexpr int threads = T;
  NmgFormat format;
  BlockMatrix matrix;
  const U* values;
  const I* index;
  U* out;

  std::int64_t blocks() const { return NmgBlockUnit::count(format, matrix); }
  std::size_t shared_bytes() const {
    CountingBlock count(threads);
    count.shared<std::uint16_t>(format.strips());
    return count.used();
  }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t u) const {
    const NmgFormat f = format;
    const NmgBlockUnit unit(f, matrix, u);
    const std::int64_t strips = f.strips();
    auto slot_of = b.template shared<std::uint16_t>(strips);
    const I* of_slot = index + u * strips;
    b.for_each_thread([&](int t) {
      each_of(b, t, strips, [&](std::int64_t slot) {
        slot_of[of_slot[slot]] = static_cast<std::uint16_t>(slot);
      });
    });
    const U* from = values + u * strips * f.n;
    U* to = out + unit.offset;
    b.for_each_thread([&](int t) {
      each_of(b, t, unit.cols, [&](std::int64_t s) {
        const std::uint32_t slot = slot_of[s], p = slot / static_cast<std::uint32_t>(f.g);
        const std::uint16_t* rows = f.patterns + p * f.n;
        const U* kept = from + slot * f.n;
        U* at = to + s * matrix.col_stride;
        std::int64_t i = 0;
        for (std::int64_t r = 0; r < unit.rows; ++r, at += matrix.row_stride) {
          const bool is_kept = i < f.n && rows[i] == r;
          *at = is_kept ? kept[i] : U{0};
          i += is_kept;
        }
      });
    });
  }
};

// Gathers the elements at the positions of an n:m:g.
template <class U, class I, int T>
struct NmgGatherKernel {
  static constexpr int threads = T;
  NmgFormat format;
  BlockMatrix matrix;
  const U* x;
  const I* index;
  U* values;

  std::int64_t blocks() const { return NmgBlockUnit::count(format, matrix); }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t u) const {
    const NmgFormat f = format;
    const NmgBlockUnit unit(f, matrix, u);
    const I* of_slot = index + u * f.strips();
    U* to = values + u * f.strips() * f.n;
    b.for_each_thread([&](int t) {
      each_of(b, t, f.strips(), [&](std::int64_t slot) {
        const std::int64_t s = of_slot[slot];
        const auto p = static_cast<std::uint32_t>(slot) / static_cast<std::uint32_t>(f.g);
        const U* from = x + unit.offset + s * matrix.col_stride;
        for (std::int64_t i = 0; i < f.n; ++i) {
          const std::int64_t r = f.patterns[p * f.n + i];
          const bool is_inside = s < unit.cols && r < unit.rows;
          to[slot * f.n + i] = is_inside ? from[r * matrix.row_stride] : U{0};
        }
      });
    });
  }
};

// Calls launch(U{}, the typed index, the number of threads as a constant).
template <class F>
void with_nmg_index(const NmgFormat& f, int width, const void* index, F&& launch) {
  with_unsigned(width, [&]<class U>(U u) {
    if (f.strips() <= 64)
      launch(u, static_cast<const std::uint8_t*>(index), std::integral_constant<int, 32>());
    else if (f.strips() <= 256)
      launch(u, static_cast<const std::uint8_t*>(index), std::integral_constant<int, 64>());
    else
      launch(u, static_cast<const std::uint16_t*>(index), std::integral_constant<int, 64>());
  });
}

template <class Grid>
void nmg_unpack(Grid& grid, const NmgFormat& f, const BlockMatrix& matrix, const void* values,
                int width, const void* index, void* out) {
  with_nmg_index(f, width, index, [&]<class U, class I, class T>(U, const I* of_slot, T) {
    grid.launch(NmgUnpackKernel<U, I, T::value>{f, matrix, static_cast<const U*>(values), of_slot,
                                                static_cast<U*>(out)});
  });
}

template <class Grid>
void nmg_gather(Grid& grid, const NmgFormat& f, const BlockMatrix& matrix, const void* x, int width,
                const void* index, void* values) {
  with_nmg_index(f, width, index, [&]<class U, class I, class T>(U, const I* of_slot, T) {
    grid.launch(NmgGatherKernel<U, I, T::value>{f, matrix, static_cast<const U*>(x), of_slot,
                                                static_cast<U*>(values)});
  });
}

}  // namespace sten::kernels
