// All elements of a tensor from its n:m:g, a block of threads a chunk.
#pragma once
#include "kernels/block/nmg/nmg_chunk.h"

namespace sten::kernels {

// U and I are the elements' bits and those of the index.
template <class U, class I>
struct NmgUnpackKernel {
  static constexpr int threads = 64;
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

template <class Grid>
void nmg_unpack(Grid& grid, const NmgFormat& f, const BlockMatrix& matrix, const void* values,
                int width, const void* index, void* out) {
  with_unsigned(width, [&]<class U>(U) {
    const auto launch = [&](const auto* of_slot) {
      using I = std::remove_cvref_t<decltype(*of_slot)>;
      grid.launch(NmgUnpackKernel<U, I>{f, matrix, static_cast<const U*>(values), of_slot,
                                        static_cast<U*>(out)});
    };
    if (f.strips() <= 256)
      launch(static_cast<const std::uint8_t*>(index));
    else
      launch(static_cast<const std::uint16_t*>(index));
  });
}

}  // namespace sten::kernels
