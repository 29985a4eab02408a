// SPDX-License-Identifier: Apache-2.0
// A packed weight in n:m:g for products on a device.
#pragma once
#include <limits>

#include "kernels/block/each_element.h"
#include "kernels/block/functions.h"

namespace sten::kernels {

// What a warp reads at once. n = 1: two strips of a round, which has one strip of each pattern;
// patterns are different rows, so rounds give the order of sums that functions.h states. n = 2: one
// strip, pattern by pattern.
struct alignas(16) NmgPacket {
  float value[2];
  std::int32_t at[2];  // row of B in the slab
};

// The packets of a format with n = 1 or 2, and the chunks per slab. Kernels count in int.
struct NmgPacking {
  static constexpr int warp = 32, width = 4 * warp;  // columns per block
  static constexpr int most_strips = 128;            // per slab, except for larger chunks

  int n, m, g, strips;     // per chunk
  int per_round, packets;  // per chunk
  int row_blocks, chunks, slab_chunks;

  // most_m: rounds have as many packets as for this m; the last ones are unused.
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
  // The packing of A^T for n = 1, where x is A^T B. A chunk is a row block of A, in which each
  // column has one value; a round takes the value of each column. A row block has `m` columns of A.
  static NmgPacking of_columns(const NmgFormat& f, int m, const ProductOperands& x) {
    NmgPacking p(f, m, x);
    p.m = m;
    p.g = 1;
    p.strips = static_cast<int>(f.m);
    p.packets = p.per_round;
    p.row_blocks = static_cast<int>((x.rows + m - 1) / m);
    p.chunks = static_cast<int>((x.cols + f.m - 1) / f.m);
    p.slab_chunks = p.strips < most_strips ? most_strips / p.strips : 1;
    if (p.slab_chunks > p.chunks) p.slab_chunks = p.chunks;
    return p;
  }
  // Whether x can be packed with row blocks of m.
  static bool has_room(const NmgFormat& f, std::int64_t m, const ProductOperands& x) {
    constexpr std::int64_t most = std::numeric_limits<int>::max() - 1024;
    return f.n <= 2 && f.strips() <= 256 && x.rows < most && x.cols < most && x.n < most &&
           (x.rows + m - 1) / m <= most / ((x.n + width - 1) / width);
  }
  STEN_HOST_DEVICE std::int64_t all_packets() const {
    return std::int64_t{row_blocks} * chunks * packets;
  }
};

// Packs to packets [row_blocks, chunks, packets] from values and indices as stored.
struct NmgPack {
  NmgPacking of;
  const float* values;
  const std::uint8_t* index;
  NmgPacket* packets;

  STEN_DEVICE void operator()(std::int64_t i) const { packets[i] = packet(i); }
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

// The same for of_columns(). A thread handles a strip of A, or a column of a row block after the
// last column of A.
struct NmgPackColumns {
  NmgPacking of;
  NmgFormat format;
  std::int64_t columns;
  const float* values;
  const std::uint8_t* index;
  NmgPacket* packets;

  STEN_HOST_DEVICE std::int64_t chunks() const {  // per row of A
    return (columns + format.strips() - 1) / format.strips();
  }
  STEN_HOST_DEVICE std::int64_t strips() const { return of.chunks * chunks() * format.strips(); }
  STEN_HOST_DEVICE std::int64_t all() const {
    return strips() + (std::int64_t{of.row_blocks} * of.m - columns) * of.chunks;
  }
  STEN_DEVICE void operator()(std::int64_t i) const {
    if (i < strips())
      place(i);
    else
      put(columns + (i - strips()) / of.chunks, (i - strips()) % of.chunks, 0, 0);
  }

 private:
  STEN_DEVICE void place(std::int64_t strip) const {
    const std::int64_t unit = strip / format.strips(), in_unit = strip - unit * format.strips();
    const std::int64_t chunk = unit / chunks();
    const std::int64_t column = (unit - chunk * chunks()) * format.strips() + index[strip];
    if (column < columns) put(column, chunk, values[strip], format.patterns[in_unit / format.g]);
  }
  STEN_DEVICE void put(std::int64_t column, std::int64_t chunk, float value, int row) const {
    const std::int64_t row_block = column / of.m;
    const int in_block = static_cast<int>(column - row_block * of.m);
    NmgPacket& packet = packets[(row_block * of.chunks + chunk) * of.packets + in_block / 2];
    packet.value[in_block % 2] = value;
    packet.at[in_block % 2] =
        (static_cast<int>(chunk % of.slab_chunks) * of.strips + row) * NmgPacking::warp;
  }
};

}  // namespace sten::kernels
