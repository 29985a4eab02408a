// SPDX-License-Identifier: Apache-2.0
// C = A B with A in n:m:g, n = 1 or 2.
//
// A block has the sums of a few row blocks x 128 columns of C, a warp one row block, and a thread 4
// columns of all m rows, in registers. All warps read rows of B from one slab of a few chunks in
// shared memory, while the next slab is copied to a second buffer. For each packet of A a warp
// reads two values and the offsets of their rows of B, the same for all threads, and then these
// rows, 16 bytes per thread. Reads of shared memory limit the speed: 4.5 cycles of a multiprocessor
// per value and 128 columns at n = 1, where a dense product takes at least m.
#pragma once
#include <cmath>

#include "kernels/block/product/gemm_columns.h"
#include "kernels/block/product/nmg_packing.h"
#include "kernels/block/product/nmg_rows.h"

namespace sten::kernels {

// n = 1: any m <= most_m; a sum belongs to a pattern until its row is looked up at the end. n = 2:
// m is most_m, and the rows of patterns are known at compile time.
template <int n, int most_m>
struct NmgGemmKernel {
  static_assert(n == 1 || n == 2);
  static constexpr int warp = NmgPacking::warp, width = NmgPacking::width;
  // The sums of a thread take 4 most_m of its 96 or 128 registers.
  static constexpr int threads = most_m > 10 ? 512 : 640, warps = threads / warp;
  static constexpr int per_round = (most_m + 1) / 2;

  NmgPacking of;
  GemmColumns columns;
  const std::uint16_t* patterns;  // nullptr: sum i belongs to row i
  const NmgPacket* packets;
  int row_blocks;  // per block, at most `warps`

  // Row blocks that read the same columns are neighbours, so that these columns are in L2.
  STEN_HOST_DEVICE int groups() const { return (of.row_blocks + row_blocks - 1) / row_blocks; }
  std::int64_t blocks() const { return groups() * ((columns.of.n + width - 1) / width); }

  template <class Block>
  struct Memory {
    typename Block::template Shared<Floats4> slabs;      // [2, slab_chunks * strips, warp]
    typename Block::template Shared<NmgPacket> packets;  // [2, row_blocks, slab_chunks * packets]

    STEN_HOST_DEVICE Memory(Block& b, const NmgGemmKernel& k) {
      const std::int64_t chunks = 2 * k.of.slab_chunks;
      slabs = b.template shared<Floats4>(chunks * k.of.strips * warp);
      packets = b.template shared<NmgPacket>(chunks * k.row_blocks * k.of.packets);
    }
  };
  std::size_t shared_bytes() const {
    CountingBlock b;
    const Memory<CountingBlock> memory(b, *this);
    return b.used();
  }

  struct Sums {
    Floats4 of[most_m];
  };

  // The work of a thread for the slab that starts with chunk `first`.
  template <class Block>
  struct Thread {
    const NmgGemmKernel& k;
    const NmgPacking& of;
    Memory<Block>& memory;
    int lane, in_block, row_block, col;

    STEN_DEVICE Thread(const NmgGemmKernel& kernel, Memory<Block>& in, int group, int tile, int t)
        : k(kernel),
          of(kernel.of),
          memory(in),
          lane(t % warp),
          in_block(t / warp),
          row_block(group * k.row_blocks + in_block),
          col(tile * width + 4 * lane) {}

    STEN_DEVICE bool has_rows() const {
      return in_block < k.row_blocks && row_block < of.row_blocks;
    }
    STEN_DEVICE int chunks_from(int first) const {
      return of.chunks - first < of.slab_chunks ? of.chunks - first : of.slab_chunks;
    }
    STEN_DEVICE int slab_at(int buffer) const {
      return buffer * of.slab_chunks * of.strips * warp + lane;
    }
    STEN_DEVICE int packets_at(int buffer) const {
      return (buffer * k.row_blocks + in_block) * of.slab_chunks * of.packets;
    }

    // Each warp loads its packets and a share of the rows of B.
    STEN_DEVICE void fetch(Block& b, int first, int buffer) const {
      const int row = first * of.strips, rows = chunks_from(first) * of.strips;
      k.columns.load_rows(b, row + in_block, warps, row + rows, col, memory.slabs,
                          slab_at(buffer) + in_block * warp, warps * warp);
      if (!has_rows()) return;
      const int count = chunks_from(first) * of.packets, to = packets_at(buffer);
      const NmgPacket* from =
          k.packets + (std::int64_t{row_block} * of.chunks + first) * of.packets;
      for (int i = lane; i < count; i += warp) b.copy_later(memory.packets, to + i, from + i);
    }

    STEN_DEVICE static void add(Floats4& sum, float v, const Floats4& x) {
      each_constant<4>([&](auto i) { sum.v[i] = fmaf(v, x.v[i], sum.v[i]); });
    }
    STEN_DEVICE void multiply(int first, int buffer, Sums& sums) const {
      if constexpr (n == 1)
        multiply_rounds(first, buffer, sums);
      else
        multiply_patterns(first, buffer, sums);
    }
    STEN_DEVICE void multiply_rounds(int first, int buffer, Sums& sums) const {
      // Patterns are divided into parts if registers cannot hold the operands of all.
      constexpr int parts = most_m > 16   ? 3
                            : most_m > 10 ? 2
                                          : 1,
                    share = (per_round + parts - 1) / parts;
      const int slab = slab_at(buffer), rounds = chunks_from(first) * of.g;
      each_constant<parts>([&](auto part) {
        int at = packets_at(buffer);
        STEN_UNROLL(most_m <= 2 ? 8 : most_m <= 5 ? 4 : most_m <= 10 ? 2 : 1)
        for (int r = 0; r < rounds; ++r, at += per_round)
          each_constant<share>([&](auto i) {
            constexpr int q = part * share + i, p = 2 * q;
            if constexpr (p < most_m) {
              const NmgPacket two = memory.packets[at + q];
              add(sums.of[p], two.value[0], memory.slabs[slab + two.at[0]]);
              if constexpr (p + 1 < most_m)
                add(sums.of[p + 1], two.value[1], memory.slabs[slab + two.at[1]]);
            }
          });
      });
    }
    STEN_DEVICE void multiply_patterns(int first, int buffer, Sums& sums) const {
      const int slab = slab_at(buffer);
      int at = packets_at(buffer);
      for (int c = chunks_from(first); c > 0; --c)
        each_constant<nmg_pattern_count(n, most_m)>([&](auto p) {
          constexpr int row0 = nmg_pattern_row(n, most_m, p, 0);
          constexpr int row1 = nmg_pattern_row(n, most_m, p, 1);
          STEN_UNROLL(4)
          for (int j = 0; j < of.g; ++j, ++at) {
            const NmgPacket strip = memory.packets[at];
            const Floats4 x = memory.slabs[slab + strip.at[0]];
            add(sums.of[row0], strip.value[0], x);
            add(sums.of[row1], strip.value[1], x);
          }
        });
    }
    STEN_DEVICE void store(const Sums& sums) const {
      each_constant<most_m>([&](auto i) {
        if (i >= of.m) return;
        const int in_row_block = n == 1 && k.patterns ? k.patterns[i] : i;
        const std::int64_t row = std::int64_t{row_block} * of.m + in_row_block;
        if (row < k.columns.of.rows) k.columns.store(row, col, sums.of[i]);
      });
    }
  };

  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    Memory<Block> memory(b, *this);
    auto sums = b.template per_thread<Sums>();
    const int group = static_cast<int>(block) % groups(), tile = static_cast<int>(block) / groups();
    const auto thread = [&](int t) { return Thread<Block>(*this, memory, group, tile, t); };
    b.for_each_thread([&](int t) {
      sums(t) = Sums{};
      if (of.chunks > 0) thread(t).fetch(b, 0, 0);
      b.end_copies();
    });
    int buffer = 0;
    for (int first = 0; first < of.chunks; first += of.slab_chunks, buffer ^= 1)
      b.for_each_thread([&](int t) {
        const int next = first + of.slab_chunks;
        if (next < of.chunks) thread(t).fetch(b, next, buffer ^ 1);
        if (thread(t).has_rows()) thread(t).multiply(first, buffer, sums(t));
        b.end_copies();
      });
    b.for_each_thread([&](int t) {
      if (thread(t).has_rows()) thread(t).store(sums(t));
    });
  }
};

}  // namespace sten::kernels
