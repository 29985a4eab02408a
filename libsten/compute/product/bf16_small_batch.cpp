// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/bf16_small_batch.h"

#include <algorithm>
#include <functional>

#include "libsten/compute/product/nmg_bf16.h"
#include "libsten/compute/product/product_impl.h"
#include "libsten/compute/product/single_token.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/scratch.h"

namespace sten {
namespace {

using kernels::bf16_streams, kernels::bf16_block_rows, kernels::bf16_block_sums,
    kernels::bf16_most_tokens, kernels::bf16_tile_rows;
static_assert(bf16_max_small_batch == kernels::bf16_most_in_lanes);
static_assert(bf16_block_rows <= most_token_values);

// Receives the results of a block, or of a group of 16 rows: the first row, the number of rows, and
// sums [rows][bf16_most_tokens], those of further tokens bf16_block_sums later.
using WriteBlock = std::function<void(Index, Index, float*)>;

// Calls multiply(i, sums) for each i below `count`. Of a single token, only its lane is defined.
template <class F>
void each_with_sums(Index count, Index tokens, F&& multiply) {
  // Kernels do not write all sums.
  const Index size = ceil_div(tokens, bf16_most_tokens) * bf16_block_sums;
  const auto some = [&](Index begin, Index end) {
    thread_local Scratch sums_memory;
    float* const sums = sums_memory.of(size);
    for (Index i = begin; i < end; ++i) {
      if (tokens > 1 && tokens % bf16_most_tokens > 0) std::fill_n(sums, size, 0.0f);
      multiply(i, sums);
    }
  };
  parallel_for(count, 1, std::cref(some));
}

// Groups of 16 rows that are multiplied together, a quarter of the matrix apart (docs/kernels.md).
struct StridedGroups {
  Index first, stride, count;
  Index operator[](Index i) const { return first + i * stride; }
};

// Calls multiply(groups, sums), and write() with each group of the result.
template <class F>
void each_strided_groups(Index rows, Index tokens, F&& multiply, const WriteBlock& write) {
  const Index groups = ceil_div(rows, bf16_tile_rows), stride = ceil_div(groups, bf16_streams);
  each_with_sums(stride, tokens, [&](Index first, float* sums) {
    const StridedGroups at{first, stride, ceil_div(groups - first, stride)};
    multiply(at, sums);
    for (Index i = 0; i < at.count; ++i, sums += bf16_tile_rows * bf16_most_tokens) {
      const Index row = at[i] * bf16_tile_rows;
      write(row, std::min(bf16_tile_rows, rows - row), sums);
    }
  });
}

// x in parts of up to bf16_most_tokens, each prepared.
class PreparedParts {
 public:
  PreparedParts(const Interleaved& x, void (*prepare)(const kernels::Bf16SmallBatch&, float*)) {
    thread_local Scratch memory;
    room_ = kernels::bf16_small_batch_scratch(x.rows(), std::min(bf16_most_tokens, x.tokens));
    prepared_ = memory.of(ceil_div(x.tokens, bf16_most_tokens) * room_);
    for (Index token = 0; token < x.tokens; token += bf16_most_tokens, ++count_) {
      parts_[count_] = {x.tile(0, token), x.stride(), x.rows(),
                        std::min(bf16_most_tokens, x.tokens - token)};
      prepare(parts_[count_], prepared_ + count_ * room_);
    }
  }
  // Calls multiply(part, its prepared form, sums) for each part.
  template <class F>
  void each(float* sums, F&& multiply) const {
    for (Index p = 0; p < count_; ++p)
      multiply(parts_[p], prepared_ + p * room_, sums + p * bf16_block_sums);
  }

 private:
  kernels::Bf16SmallBatch parts_[2];
  Index count_ = 0, room_ = 0;
  float* prepared_;
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

void multiply_strips(const Tensor& a, const Interleaved& x, const WriteBlock& write) {
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

void multiply_lanes(const Tensor& a, const Interleaved& x, const WriteBlock& write) {
  const kernels::Bf16SmallBatchTable& table = kernels::bf16_small_batch();
  const auto lanes = lanes_for(a, x.tokens);
  const kernels::Bf16SmallBatch in{x.at, x.stride(), x.rows(), x.tokens};
  thread_local Scratch x_memory;
  float* const room = x_memory.of(kernels::bf16_small_batch_scratch(x.rows(), x.tokens));
  table.prepare_lanes(in, lanes->is_narrow, room);
  const auto multiply = [&](const StridedGroups& at, float* sums) {
    kernels::Bf16Lanes of[bf16_streams];
    for (Index i = 0; i < at.count; ++i) of[i] = lanes->group(at[i]);
    table.multiply_lanes(of, at.count, in, room, sums);
  };
  each_strided_groups(lanes->rows, x.tokens, multiply, write);
}

void multiply_tiles(const Tensor& a, const Interleaved& x, const WriteBlock& write) {
  const kernels::Bf16SmallBatchTable& table = kernels::bf16_small_batch();
  const auto tiles = bf16_weight_tiles(a);
  const PreparedParts parts(x, table.prepare_tiles);
  each_with_sums(tiles->blocks(), x.tokens, [&](Index block, float* all) {
    parts.each(all, [&](const kernels::Bf16SmallBatch& part, const float* room, float* sums) {
      table.multiply_tiles(tiles->block(block), part, room, sums);
    });
    const Index row = block * bf16_block_rows;
    write(row, std::min(bf16_block_rows, tiles->rows - row), all);
  });
}

void multiply_rows(const Tensor& a, const Interleaved& x, const WriteBlock& write) {
  const kernels::Bf16SmallBatchTable& table = kernels::bf16_small_batch();
  const auto rows = bf16_weight_rows(a);
  const PreparedParts parts(x, table.prepare_rows);
  const auto multiply = [&](const StridedGroups& at, float* all) {
    kernels::Bf16Rows groups{{}, at.count, rows->columns()};
    for (Index i = 0; i < at.count; ++i) groups.groups[i] = rows->group(at[i]);
    parts.each(all, [&](const kernels::Bf16SmallBatch& part, const float* room, float* sums) {
      table.multiply_rows(groups, part, room, sums);
    });
  };
  each_strided_groups(rows->rows, x.tokens, multiply, write);
}

bool has_amx(const Tensor&, const ProductCall&) {
  return kernels::active_isa() >= kernels::Isa::amx;
}
// Whether lanes are faster than tiles or rows.
bool supports_lanes(const Tensor&, const ProductCall& call) {
  const kernels::Isa isa = kernels::active_isa();
  if (isa < kernels::Isa::amx) {
    // `vdpbf16ps` multiplies dense rows about as fast as they are read.
    const bool multiplies_fast = isa == kernels::Isa::avx512_bf16 && call.tokens > 4;
    return call.density < (multiplies_fast ? 0.3 : bf16_least_dense());
  }
  // Lanes need a lookup per token and value; tiles process up to 16 tokens at no extra cost.
  return call.tokens <= 2 ? call.density < 0.2 : call.tokens <= 4 && call.density < 0.15;
}
bool supports_strips(const Tensor& a, const ProductCall& call) {
  return supports_lanes(a, call) && is_for_bf16_strips(a, call.tokens);
}

constexpr ProductImpl<void(const Tensor&, const Interleaved&, const WriteBlock&)>
    small_batch_impls[] = {
        {"strips", supports_strips, multiply_strips},
        {"lanes", supports_lanes, multiply_lanes},
        {"tiles", has_amx, multiply_tiles},
        {"rows", always, multiply_rows},
};

}  // namespace

Bf16SmallBatchFactor::Bf16SmallBatchFactor(Tensor a) : a_(std::move(a)) {
  density_ = bf16_density(a_);  // checks the weight
  const Shape shape = a_.shape();
  rows_ = shape[0], cols_ = shape[1];
}

template <class Write>
void Bf16SmallBatchFactor::multiply_blocks(const Interleaved& x, const Write& write) const {
  const ProductCall call{x.tokens, false, density_};
  first_supporting(small_batch_impls, a_, call)->multiply(a_, x, std::cref(write));
}

template <class Y>
void Bf16SmallBatchFactor::check(const Interleaved& x, const Y& y) const {
  check_extents("bfloat16 product", rows_, cols_, x, y);
  if (x.tokens > bf16_max_small_batch)
    fail_usage("bfloat16 product: expected at most {} tokens, got {}", bf16_max_small_batch,
               x.tokens);
}

void Bf16SmallBatchFactor::multiply(const Interleaved& x, const ActivationsOut& y,
                                    const Epilogue& epilogue) const {
  check(x, y);
  if (x.tokens == 0) return;
  if (x.tokens == 1)
    return multiply_blocks(x, [&](Index row, Index count, const float* sums) {
      write_token(sums, bf16_most_tokens, row, count, y, epilogue);
    });
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
  check(x, y);
  if (x.tokens == 0) return;
  if (x.tokens == 1)
    return multiply_blocks(x, [&](Index row, Index count, const float* sums) {
      write_token(sums, bf16_most_tokens, row, count, y, epilogue);
    });
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

}  // namespace sten
