// SPDX-License-Identifier: Apache-2.0
// y = x A^T with A in SlabLists; x and y have rows of tokens or rows of features.
//
// A block has the sums of 128 tokens by up to 128 lists, a warp up to 16 lists, and a thread 4
// tokens, in registers. For each slab the block transposes a tile of x (transposed_tile.h) of 64
// KB, so that several blocks of a multiprocessor alternate between loading and multiplying. For
// each entry a warp reads the value and its row, the same for all threads, and then that row of the
// tile, 16 bytes per thread: at least 4 cycles of shared memory for 128 multiply-adds.
#pragma once
#include <cmath>

#include "kernels/block/each_element.h"
#include "kernels/block/gemm/transposed_tile.h"
#include "kernels/block/gemm_functions.h"
#include "kernels/block/product/nmg_rows.h"

namespace sten::kernels {

struct alignas(8) ListEntry {
  float value;
  std::int32_t row;  // of the tile
};

struct WriteListEntry {
  SlabLists of;
  const float* values;
  ListEntry* entries;
  STEN_DEVICE void operator()(std::int64_t i) const {
    if (i < of.starts[of.slabs() * of.lists])
      entries[i] = {values[of.slots[i]], TransposedTile::row(of.at[i])};
  }
};

struct ListProductKernel {
  static constexpr int threads = 256, warp = TransposedTile::lanes, warps = threads / warp;
  static constexpr int most_each = 16;  // lists per warp
  SlabLists of;
  const ListEntry* entries;
  TokenFloats<const float> x;
  TokenFloats<float> y;
  const float* bias;
  int each;  // lists per warp

  // The result does not depend on `each`.
  static int lists_of_warp(std::int64_t lists, std::int64_t tokens, int processors) {
    const std::int64_t tiles = (tokens + TransposedTile::tokens - 1) / TransposedTile::tokens;
    int each = most_each;
    while (each > 1 && (lists + each * warps - 1) / (each * warps) * tiles < 2 * processors)
      each /= 2;
    return each;
  }
  // Blocks that read the same tokens are neighbours.
  STEN_HOST_DEVICE std::int64_t groups() const {
    return (of.lists + each * warps - 1) / (each * warps);
  }
  std::int64_t blocks() const {
    return groups() * ((x.tokens() + TransposedTile::tokens - 1) / TransposedTile::tokens);
  }
  std::size_t shared_bytes() const {
    CountingBlock b;
    b.shared<Floats4>(TransposedTile::most_features * warp);
    return b.used();
  }

  struct Sums {
    Floats4 of[most_each];
  };

  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    auto tile = b.template shared<Floats4>(TransposedTile::most_features * warp);
    auto sums = b.template per_thread<Sums>();
    const std::int64_t group = block % groups(), token = block / groups() * TransposedTile::tokens;
    const int lanes = TransposedTile::lanes_of(token, x.tokens());
    b.for_each_thread([&](int t) { sums(t) = Sums{}; });
    for (std::int64_t slab = 0; slab < of.slabs(); ++slab) {
      b.for_each_thread([&](int t) {
        TransposedTile::load(b, t, x, token, slab * SlabLists::slab, TransposedTile::most_features,
                             tile);
      });
      b.for_each_thread([&](int t) {
        if (t % warp < lanes) multiply(slab, group, t, tile, sums(t));
      });
    }
    b.for_each_thread([&](int t) {
      const int first = t / warp * each, lane = t % warp;
      each_constant<most_each>([&](auto i) {
        if (i < each && lane < lanes) tile[TransposedTile::row(first + i) ^ lane] = sums(t).of[i];
      });
    });
    b.for_each_thread([&](int t) {
      TransposedTile::store(b, t, tile, each * warps, bias, y, token, group * each * warps);
    });
  }

 private:
  template <class Shared>
  STEN_DEVICE void multiply(std::int64_t slab, std::int64_t group, int t, const Shared& tile,
                            Sums& sums) const {
    const int lane = t % warp;
    const std::int64_t first = (group * warps + t / warp) * each;
    const std::int64_t* starts = of.starts + slab * of.lists + first;
    each_constant<most_each>([&](auto i) {
      if (i >= each || first + i >= of.lists) return;
      const ListEntry* entry = entries + starts[i];
      Floats4 sum = sums.of[i];
      STEN_UNROLL(4)
      for (auto left = static_cast<int>(starts[i + 1] - starts[i]); left > 0; --left, ++entry) {
        const ListEntry one = *entry;
        const Floats4 in = tile[one.row ^ lane];
        each_constant<4>([&](auto k) { sum.v[k] = fmaf(one.value, in.v[k], sum.v[k]); });
      }
      sums.of[i] = sum;
    });
  }
};

template <class Grid>
void list_product(Grid& grid, const SlabLists& of, const float* values, std::int64_t stored,
                  const ListOperands& x) {
  if (x.tokens == 0 || of.lists == 0) return;
  auto* entries = grid.template scratch<ListEntry>(stored);
  launch_threads<256>(grid, stored, WriteListEntry{of, values, entries});
  grid.launch(ListProductKernel{
      of, entries, TokenFloats<const float>(x.x, x.tokens, of.width, x.by_features),
      TokenFloats<float>(x.y, x.tokens, of.lists, x.by_features), x.bias,
      ListProductKernel::lists_of_warp(of.lists, x.tokens, grid.processors())});
}

}  // namespace sten::kernels
