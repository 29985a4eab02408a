// A in n:m:g as products of blocks of threads read it.
#pragma once
#include <limits>

#include "kernels/block/functions.h"

namespace sten::kernels {

// What a warp reads at once. With n = 1 two strips of a round, which has one strip of each pattern:
// patterns are different rows then, and rounds give the sums of the promised order. With n = 2 one
// strip, pattern by pattern.
struct alignas(16) NmgPacket {
  float value[2];
  std::int32_t at[2];  // of a row of B in the slab
};

// How packets follow from a format, n of 1 or 2, and how chunks are joined to slabs. Kernels count
// by int.
struct NmgPacking {
  static constexpr int warp = 32, width = 4 * warp;  // columns of a block
  static constexpr int most_strips = 128;            // of a slab, but for larger chunks

  int n, m, g, strips;     // of a chunk
  int per_round, packets;  // of a chunk, too
  int row_blocks, chunks, slab_chunks;

  // `most_m`: rounds are as long as for that m, their last packets without meaning.
  NmgPacking(const NmgFormat& f, int most_m, const ProductOperands& x)
      : n(static_cast<int>(f.n)),
        m(static_cast<int>(f.m)),
        g(static_cast<int>(f.g)),
        strips(static_cast<int>(f.strips())),
        per_round((most_m + 1) / 2),
        packets(n == 1 ? per_round * g : strips),
        row_blocks(static_cast<int>((x.rows + m - 1) / m)),
        chunks(static_cast<int>((x.cols + strips - 1) / strips)),
        slab_chunks(strips < most_strips ? most_strips / strips : 1) {
    if (slab_chunks > chunks) slab_chunks = chunks;
  }
  // Whether a packing of x can be.
  static bool has_room(const NmgFormat& f, const ProductOperands& x) {
    constexpr std::int64_t most = std::numeric_limits<int>::max() - 1024;
    return f.n <= 2 && f.strips() <= 256 && x.rows < most && x.cols < most && x.n < most &&
           (x.rows + f.m - 1) / f.m <= most / ((x.n + width - 1) / width);
  }
  STEN_HOST_DEVICE std::int64_t all_packets() const {
    return std::int64_t{row_blocks} * chunks * packets;
  }
};

// packets[row_blocks, chunks, packets] of the values and indices as they are stored.
struct NmgPackKernel {
  static constexpr int threads = 128;
  NmgPacking of;
  const float* values;
  const std::uint8_t* index;
  NmgPacket* packets;

  std::int64_t blocks() const { return (of.all_packets() + threads - 1) / threads; }
  std::size_t shared_bytes() const { return 0; }

  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    b.for_each_thread([&](int t) {
      const std::int64_t i = block * threads + t;
      if (i < of.all_packets()) packets[i] = packet(i);
    });
  }
  STEN_DEVICE NmgPacket packet(std::int64_t i) const {
    const std::int64_t unit = i / of.packets, strip0 = unit * of.strips;
    const int in_unit = static_cast<int>(i - unit * of.packets);
    const int chunk = static_cast<int>(unit % of.chunks) % of.slab_chunks;
    NmgPacket packet{};
    for (int k = 0; k < 2; ++k) {
      const int p = 2 * (in_unit % of.per_round) + k;
      if (of.n == 1 && p >= of.m) continue;
      const std::int64_t strip = strip0 + (of.n == 1 ? p * of.g + in_unit / of.per_round : in_unit);
      packet.value[k] = values[of.n == 1 ? strip : 2 * strip + k];
      packet.at[k] = (chunk * of.strips + index[strip]) * NmgPacking::warp;
    }
    return packet;
  }
};

}  // namespace sten::kernels
