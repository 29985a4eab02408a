// SPDX-License-Identifier: Apache-2.0
// n:m:g fits of whole tensors; a block of threads handles one chunk.
#pragma once
#include "kernels/block/functions.h"
#include "kernels/block/nmg/nmg_exact_chunk.h"
#include "kernels/block/nmg/nmg_output.h"
#include "kernels/block/nmg/nmg_small_pattern_count.h"
#include "kernels/block/nmg/nmg_swaps.h"
#include "kernels/block/nmg/nmg_unpack.h"

namespace sten::kernels {

// The exact fit of chunks, and the requested parts.
struct NmgExactKernel {
  static constexpr int threads = 128;
  // Maximum number of blocks that share the chunks left over by another kernel. Most often there
  // are none.
  static constexpr std::int64_t most_blocks_for_left = 1024;
  NmgFormat format;
  BlockMatrix matrix;
  const void* x;
  FloatKind kind;
  NmgParts to;
  NmgLeft left{};  // handles its ragged units; all units if null

  STEN_HOST_DEVICE std::int64_t units() const { return NmgBlockUnit::count(format, matrix); }
  STEN_HOST_DEVICE std::int64_t blocks() const {
    const std::int64_t all = units();
    return left.of && all > most_blocks_for_left ? most_blocks_for_left : all;
  }
  std::size_t shared_bytes() const {
    CountingBlock count(threads);
    count.shared<std::int64_t>(threads);
    nmg_exact_shared(count, format);
    const NmgOutputBlock<CountingBlock> output(count, format);
    return count.used();
  }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    if (!left.of) {
      prune(b, block);
      return;
    }
    if (left.count[NmgLeft::ragged] == 0) return;
    const std::int64_t all = units(), share = (all + blocks() - 1) / blocks();
    const std::int64_t end = all < (block + 1) * share ? all : (block + 1) * share;
    auto found = b.template shared<std::int64_t>(threads);
    const auto lower = [](std::int64_t i, std::int64_t j) { return i < j ? i : j; };
    for (std::int64_t begin = block * share;;) {
      const auto next = [&](int t) {
        for (std::int64_t i = begin + t; i < end; i += threads)
          if (left.of[i] == NmgLeft::ragged) return i;
        return end;
      };
      const std::int64_t u = reduce<std::int64_t>(b, found, next, lower);
      if (u >= end) return;
      const std::size_t mark = b.mark();
      prune(b, u);
      b.reset(mark);
      begin = u + 1;
    }
  }

 private:
  template <class Block>
  STEN_DEVICE void prune(Block& b, std::int64_t u) const {
    const NmgBlockUnit unit(format, matrix, u);
    const NmgBlockChunk in = NmgBlockChunk::of(x, kind, matrix, unit);
    NmgExactChunk<Block> chunk(b, format);
    NmgOutputBlock<Block> output(b, format);
    output.write(in, chunk.fit(in), u, to);
  }
};

struct NmgClearKernel {
  static constexpr int threads = 32;
  NmgLeft left;

  std::int64_t blocks() const { return 1; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t) const {
    b.for_each_thread([&](int t) {
      if (t < 3) left.count[t] = 0;
    });
  }
};

struct NmgSwapsKernel {
  static constexpr int threads = 128;
  NmgFormat format;
  BlockMatrix matrix;
  const void* x;
  FloatKind kind;
  NmgParts to;
  bool is_stored;  // magnitudes are in shared memory

  std::int64_t blocks() const { return NmgBlockUnit::count(format, matrix); }
  std::size_t shared_bytes() const {
    CountingBlock count(threads);
    nmg_swaps_shared(count, format, is_stored);
    const NmgOutputBlock<CountingBlock> output(count, format);
    return count.used();
  }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t u) const {
    const NmgBlockUnit unit(format, matrix, u);
    const NmgBlockChunk in = NmgBlockChunk::of(x, kind, matrix, unit);
    NmgSwapsChunk<Block> chunk(b, format, is_stored);
    NmgOutputBlock<Block> output(b, format);
    output.write(in, chunk.fit(in), u, to);
  }
};

inline bool nmg_has_room(const NmgFormat& f, NmgFitRule rule, std::size_t most_shared) {
  const std::size_t bytes = rule == NmgFitRule::exact
                                ? NmgExactKernel{f, {}, nullptr, {}, {}}.shared_bytes()
                                : NmgSwapsKernel{f, {}, nullptr, {}, {}, false}.shared_bytes();
  return bytes <= most_shared;
}

template <class Grid>
void nmg_prune(Grid& grid, const NmgFormat& f, const BlockMatrix& matrix, const void* x,
               FloatKind kind, NmgFitRule rule, const NmgParts& to) {
  if (rule == NmgFitRule::exact) {
    NmgExactKernel kernel{f, matrix, x, kind, to};
    if (nmg_has_small_pattern_count(f, kind) && kernel.units() < std::int64_t{1} << 31) {
      kernel.left = {grid.template scratch<std::uint8_t>(kernel.units()),
                     grid.template scratch<std::uint32_t>(3)};
      grid.launch(NmgClearKernel{kernel.left});
      nmg_prune_small_pattern_count(grid, f, matrix, x, kind, to, kernel.left);
    }
    grid.launch(kernel);
    return;
  }
  NmgSwapsKernel kernel{f, matrix, x, kind, to, true};
  kernel.is_stored = kernel.shared_bytes() <= grid.most_shared();
  grid.launch(kernel);
}

template <class Grid>
struct NmgOn {
  static bool has_room(const NmgFormat& f, NmgFitRule rule) {
    return nmg_has_room(f, rule, Grid(nullptr).most_shared());
  }
  static void prune(const NmgFormat& f, const BlockMatrix& matrix, Elements x, FloatKind kind,
                    NmgFitRule rule, NmgParts to, Stream stream) {
    Grid grid(stream);
    nmg_prune(grid, f, matrix, x.x, kind, rule, to);
  }
  static void unpack(const NmgFormat& f, const BlockMatrix& matrix, const void* values, int width,
                     const void* index, void* out, Stream stream) {
    Grid grid(stream);
    nmg_unpack(grid, f, matrix, values, width, index, out);
  }
  static void gather(const NmgFormat& f, const BlockMatrix& matrix, const void* x, int width,
                     const void* index, void* values, Stream stream) {
    Grid grid(stream);
    nmg_gather(grid, f, matrix, x, width, index, values);
  }
};

template <class Grid>
NmgFunctions nmg_functions() {
  using On = NmgOn<Grid>;
  return {On::has_room, On::prune, On::unpack, On::gather};
}

}  // namespace sten::kernels
