#include "libsten/compute/product/bf16_small_batch.h"

#include <algorithm>
#include <functional>

#include "libsten/compute/product/nmg_bf16.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/scratch.h"

namespace sten {
namespace {

using kernels::bf16_block_groups, kernels::bf16_block_rows, kernels::bf16_block_sums,
    kernels::bf16_most_tokens, kernels::bf16_tile_rows;
static_assert(bf16_max_small_batch == kernels::bf16_most_in_lanes);

// x in parts of tokens, prepared for kernels; lanes need one part.
struct SmallBatchParts {
  kernels::Bf16SmallBatch x[2];
  const float* room[2];
  Index count;
};

// The lanes with which the kernel for this number of tokens is fastest.
std::shared_ptr<const Bf16WeightLanes> lanes_for(const Tensor& a, Index tokens) {
  const auto looks_up = kernels::bf16_small_batch().looks_up;
  if (looks_up(tokens, true)) {
    auto near = bf16_weight_lanes(a);
    if (looks_up(tokens, near->is_narrow)) return near;
  }
  return bf16_weight_lanes(a, true);
}

// Bf16SmallBatchFactor::multiply_blocks() for n:m:g.
template <class Write>
void multiply_strips(const Tensor& a, const Interleaved& x, Write&& write) {
  const auto packed = nmg_bf16(a);
  const Index rows = packed->order.rows, width = kernels::bf16_width(x.tokens),
              task = packed->task_rows(), tasks = ceil_div(rows, task);
  thread_local Scratch x_memory;
  float* const in = x_memory.of(2 * x.rows() * width);
  kernels::bf16_small_batch().widen_tokens({x.at, x.stride(), x.rows(), x.tokens}, in);
  const auto some = [&](Index begin, Index end) {
    thread_local Scratch memory, sums_memory;
    const Index m = packed->order.m, first = begin * task / m,
                last = std::min(packed->order.row_blocks, end * task / m);
    float* const c = memory.of((last - first) * m * width);
    packed->multiply(first, last, in, x.tokens, c);
    for (Index row = begin * task; row < std::min(rows, end * task); row += bf16_block_rows) {
      float* sums = c + (row - begin * task) * width;
      const Index count = std::min(bf16_block_rows, rows - row);
      if (width != bf16_most_tokens) {
        const float* from = sums;
        sums = sums_memory.of(2 * bf16_block_sums);
        const Index part = std::min(width, bf16_most_tokens);
        for (Index t = 0; t < std::max(width, bf16_most_tokens); t += part)
          for (Index r = 0; r < count; ++r) {
            float* to = sums + t / bf16_most_tokens * bf16_block_sums + r * bf16_most_tokens +
                        t % bf16_most_tokens;
            if (t < width)
              std::copy_n(from + r * width + t, part, to);
            else
              std::fill_n(to, part, 0.0f);
          }
      }
      write(row, count, sums);
    }
  };
  parallel_for(tasks, std::max<Index>(1, ceil_div(tasks, Index{threads()})), std::cref(some));
}

}  // namespace

Bf16SmallBatchFactor::Bf16SmallBatchFactor(Tensor a) : a_(std::move(a)) {
  density_ = bf16_density(a_);  // checks the weight
  const Shape shape = a_.shape();
  rows_ = shape[0], cols_ = shape[1];
}

// Whether lanes are faster than tiles.
bool Bf16SmallBatchFactor::is_for_lanes(Index tokens) const {
  if (a_.is<Dense>()) return false;
  if (kernels::active_isa() < kernels::Isa::amx) return density_ < bf16_least_dense();
  // Lanes need a lookup per token and value; tiles process up to 16 tokens at no extra cost.
  return tokens <= 2 ? density_ < 0.2 : tokens <= 4 && density_ < 0.15;
}

template <class Write>
void Bf16SmallBatchFactor::multiply_blocks(const Interleaved& x, Write&& write) const {
  const kernels::Bf16SmallBatchTable& table = kernels::bf16_small_batch();
  const bool by_lanes = is_for_lanes(x.tokens);
  if (by_lanes && is_for_bf16_strips(a_, x.tokens)) return multiply_strips(a_, x, write);
  const auto lanes = by_lanes ? lanes_for(a_, x.tokens) : nullptr;
  const auto tiles = by_lanes ? nullptr : bf16_weight_tiles(a_);
  thread_local Scratch x_memory;
  SmallBatchParts parts;
  const Index at_once = by_lanes ? bf16_max_small_batch : bf16_most_tokens;
  const Index room = kernels::bf16_small_batch_scratch(x.rows(), std::min(at_once, x.tokens));
  parts.count = ceil_div(x.tokens, at_once);
  float* memory = x_memory.of(parts.count * room);
  for (Index p = 0; p < parts.count; ++p, memory += room) {
    const Index token = p * at_once;
    parts.x[p] = {x.tile(0, token), x.stride(), x.rows(), std::min(at_once, x.tokens - token)};
    parts.room[p] = memory;
    if (by_lanes)
      table.prepare_lanes(parts.x[p], lanes->is_narrow, memory);
    else
      table.prepare_tiles(parts.x[p], memory);
  }
  const Index rows = rows_, groups = ceil_div(rows, bf16_tile_rows);
  const auto multiply = [&](Index block, float* sums) {
    if (tiles) {
      for (Index p = 0; p < parts.count; ++p)
        table.multiply_tiles(tiles->block(block), parts.x[p], parts.room[p],
                             sums + p * bf16_block_sums);
      return;
    }
    kernels::Bf16Lanes of[bf16_block_groups];
    const Index first = block * bf16_block_groups,
                count = std::min(groups - first, bf16_block_groups);
    for (Index g = 0; g < count; ++g) of[g] = lanes->group(first + g);
    // The first steps of the next block.
    for (Index g = first + count; g < std::min(groups, first + 2 * count); ++g)
      if (const auto* steps = lanes->group(g).steps)  // nullptr for a matrix without values
        for (Index line = 0; line < 16; ++line) fetch_line(steps + 64 * line);
    table.multiply_lanes(of, count, parts.x[0], parts.room[0], sums);
  };
  // Kernels do not write all sums.
  const Index size = ceil_div(x.tokens, bf16_most_tokens) * bf16_block_sums;
  const auto some = [&](Index begin, Index end) {
    thread_local Scratch sums_memory;
    float* const sums = sums_memory.of(size);
    for (Index b = begin; b < end; ++b) {
      if (x.tokens % bf16_most_tokens > 0) std::fill_n(sums, size, 0.0f);
      multiply(b, sums);
      const Index row = b * bf16_block_rows;
      write(row, std::min(bf16_block_rows, rows - row), sums);
    }
  };
  parallel_for(ceil_div(rows, bf16_block_rows), 1, std::cref(some));
}

void Bf16SmallBatchFactor::check(const Interleaved& x, Index features, Index tokens) const {
  if (x.features != cols_ || features != rows_ || x.tokens != tokens)
    fail_usage(
        "bfloat16 product: {} times {} features of {} tokens does not give {} features of {} "
        "tokens",
        to_string({rows_, cols_}), x.features, x.tokens, features, tokens);
  if (x.tokens > bf16_max_small_batch)
    fail_usage("bfloat16 product: expected at most {} tokens, got {}", bf16_max_small_batch,
               x.tokens);
}

void Bf16SmallBatchFactor::multiply(const Interleaved& x, const ActivationsOut& y,
                                    const Epilogue& epilogue) const {
  check(x, y.features, y.tokens);
  if (x.tokens == 0) return;
  // A single panel is row-major in features, with all its lanes as tokens.
  ActivationsOut to = y;
  if (y.layout == ActivationLayout::panels)
    to = {ActivationLayout::features, y.features, panel_width, y.at};
  multiply_blocks(x, [&](Index row, Index count, float* sums) {
    for (Index token = 0; token < x.tokens; token += bf16_most_tokens, sums += bf16_block_sums)
      write_tile(sums, row, count, token, narrow_panel_width, false, to, epilogue);
  });
}

void Bf16SmallBatchFactor::multiply(const Interleaved& x, const InterleavedOut& y,
                                    const InterleavedEpilogue& epilogue) const {
  check(x, y.features, y.tokens);
  if (x.tokens == 0) return;
  multiply_blocks(x, [&](Index row, Index count, float* sums) {
    if (y.lanes() == narrow_panel_width) return write_interleaved(sums, row, count, 0, y, epilogue);
    // Places the parts side by side.
    thread_local Scratch memory;
    float* const tile = memory.of(bf16_block_rows * panel_width);
    for (Index r = 0; r < count; ++r)
      for (Index t = 0; t < panel_width; t += narrow_panel_width)
        if (t < x.tokens)
          std::copy_n(sums + t / narrow_panel_width * bf16_block_sums + r * narrow_panel_width,
                      narrow_panel_width, tile + r * panel_width + t);
        else
          std::fill_n(tile + r * panel_width + t, narrow_panel_width, 0.0f);
    write_interleaved(tile, row, count, 0, y, epilogue);
  });
}

void bf16_small_batch_product(const Tensor& a, const Interleaved& x, const ActivationsOut& y,
                              const Epilogue& epilogue) {
  Bf16SmallBatchFactor(a).multiply(x, y, epilogue);
}

void bf16_small_batch_product(const Tensor& a, const Interleaved& x, const InterleavedOut& y,
                              const InterleavedEpilogue& epilogue) {
  Bf16SmallBatchFactor(a).multiply(x, y, epilogue);
}

}  // namespace sten
