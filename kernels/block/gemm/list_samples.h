// SPDX-License-Identifier: Apache-2.0
// Sampled product: the gradient of the values of a matrix in SlabLists of its rows, dy^T x at its
// entries.
//
// A block has up to 512 entries of one slab and 64 rows, a warp up to 64 entries. The block
// transposes tiles of x and dy (transposed_tile.h) of 128 tokens. For each entry a warp reads a row
// of x, and a row of dy if it differs from the previous one. Each thread sums its 4 tokens of all
// tiles in one register per entry; the registers are summed across threads at the end. Tokens are
// divided into parts, whose sums another kernel adds.
#pragma once
#include "kernels/block/each_element.h"
#include "kernels/block/gemm/transposed_tile.h"
#include "kernels/block/gemm_functions.h"
#include "kernels/block/product/nmg_rows.h"

namespace sten::kernels {

struct ListSamplesKernel {
  static constexpr int threads = 256, warp = TransposedTile::lanes, warps = threads / warp;
  static constexpr int each = 64, of_block = each * warps;  // entries per warp and per block
  static constexpr int rows = 64, passes = rows * static_cast<int>(SlabLists::slab) / of_block;
  static constexpr std::int64_t of_part = 2048;  // tokens
  static constexpr int apart = warp + 1;         // stride of an entry's sums in shared memory

  SlabLists of;
  TokenFloats<const float> dy, x;
  std::int64_t stored;
  float* sums;  // [parts, stored], in the order of the entries

  static std::int64_t parts(std::int64_t tokens) { return (tokens + of_part - 1) / of_part; }
  STEN_HOST_DEVICE std::int64_t row_tiles() const { return (of.lists + rows - 1) / rows; }
  std::int64_t blocks() const { return parts(x.tokens()) * of.slabs() * row_tiles() * passes; }

  template <class Block>
  struct Memory {
    typename Block::template Shared<std::int32_t> offsets;  // of_block: rows of both tiles
    typename Block::template Shared<Floats4> x, dy;

    STEN_HOST_DEVICE explicit Memory(Block& b) {
      offsets = b.template shared<std::int32_t>(of_block);
      x = b.template shared<Floats4>(TransposedTile::most_features * warp);
      dy = b.template shared<Floats4>(rows * warp);
    }
  };
  std::size_t shared_bytes() const {
    CountingBlock b;
    const Memory<CountingBlock> memory(b);
    return b.used();
  }

  struct Sums {
    float of[each];
  };

  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    const auto pass = static_cast<int>(block % passes);
    const std::int64_t i = block / passes, row0 = i % row_tiles() * rows;
    const std::int64_t part = i / row_tiles() / of.slabs();
    const std::int64_t slab = i / row_tiles() - part * of.slabs();
    const std::int64_t* starts = of.starts + slab * of.lists + row0;
    const auto count = static_cast<int>(of.lists - row0 < rows ? of.lists - row0 : rows);
    const std::int64_t first = starts[0] + pass * of_block, left = starts[count] - first;
    if (left <= 0) return;
    const auto mine = static_cast<int>(left < of_block ? left : of_block);

    const auto whole = b.mark();
    Memory<Block> memory(b);
    auto sums_of = b.template per_thread<Sums>();
    b.for_each_thread([&](int t) {
      sums_of(t) = Sums{};
      for (int e = t; e < mine; e += threads)
        memory.offsets[e] = TransposedTile::row(of.at[first + e]) |
                            TransposedTile::row(row_of(starts, count, first + e)) << 16;
    });
    const std::int64_t begin = part * of_part;
    const std::int64_t end = begin + of_part < x.tokens() ? begin + of_part : x.tokens();
    for (std::int64_t token = begin; token < end; token += TransposedTile::tokens) {
      b.for_each_thread([&](int t) {
        TransposedTile::load(b, t, x, token, slab * SlabLists::slab, TransposedTile::most_features,
                             memory.x);
        TransposedTile::load(b, t, dy, token, row0, rows, memory.dy);
      });
      const int lanes = TransposedTile::lanes_of(token, x.tokens());
      b.for_each_thread([&](int t) {
        if (t % warp < lanes) multiply(t, mine, memory, sums_of(t));
      });
    }

    b.reset(whole);
    auto all = b.template shared<float>(of_block * apart);
    b.for_each_thread([&](int t) {
      const int e0 = t / warp * each;
      each_constant<each>([&](auto e) {
        if (e0 + e < mine) all[(e0 + e) * apart + t % warp] = sums_of(t).of[e];
      });
    });
    b.for_each_thread([&](int t) {
      for (int e = t; e < mine; e += threads) {
        float sum = 0;
        for (int lane = 0; lane < warp; ++lane) sum += all[e * apart + lane];
        sums[part * stored + first + e] = sum;
      }
    });
  }

 private:
  // The list, counted from starts[0], that contains an entry.
  STEN_DEVICE static int row_of(const std::int64_t* starts, int count, std::int64_t entry) {
    int low = 0;
    for (int high = count; high - low > 1;) {
      const int middle = (low + high) / 2;
      if (starts[middle] <= entry)
        low = middle;
      else
        high = middle;
    }
    return low;
  }
  template <class Block>
  STEN_DEVICE void multiply(int t, int mine, const Memory<Block>& memory, Sums& sums) const {
    const int lane = t % warp, e0 = t / warp * each, count = mine - e0;
    int last = -1;
    Floats4 back{};
    each_constant<each>([&](auto e) {
      if (e >= count) return;
      const std::int32_t place = memory.offsets[e0 + e];
      const Floats4 in = memory.x[(place & 0xffff) ^ lane];
      if (place >> 16 != last) last = place >> 16, back = memory.dy[last ^ lane];
      float sum = sums.of[e];
      each_constant<4>([&](auto k) { sum = fmaf(back.v[k], in.v[k], sum); });
      sums.of[e] = sum;
    });
  }
};

struct SumListParts {
  SlabLists of;
  std::int64_t stored, parts;
  const float* sums;
  float* grad;
  bool adds;

  STEN_DEVICE void operator()(std::int64_t i) const {
    if (i >= of.starts[of.slabs() * of.lists]) return;
    float sum = 0;
    for (std::int64_t p = 0; p < parts; ++p) sum += sums[p * stored + i];
    grad[of.slots[i]] = adds ? grad[of.slots[i]] + sum : sum;
  }
};

struct ZeroFloat {
  float* x;
  STEN_DEVICE void operator()(std::int64_t i) const { x[i] = 0; }
};

template <class Grid>
void list_samples(Grid& grid, const SlabLists& of, std::int64_t stored, const SampleOperands& x) {
  if (stored == 0) return;
  if (!x.adds) launch_threads<256>(grid, stored, ZeroFloat{x.grad});
  const std::int64_t parts = ListSamplesKernel::parts(x.tokens);
  auto* sums = grid.template scratch<float>(parts * stored);
  grid.launch(ListSamplesKernel{
      of, TokenFloats<const float>(x.dy, x.tokens, of.lists, x.by_features),
      TokenFloats<const float>(x.x, x.tokens, of.width, x.by_features), stored, sums});
  launch_threads<256>(grid, stored, SumListParts{of, stored, parts, sums, x.grad, x.adds});
}

}  // namespace sten::kernels
