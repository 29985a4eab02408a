// SPDX-License-Identifier: Apache-2.0
// n:m:g with n > 1 in bfloat16 for small batches: the packed form of float32 products at half the
// size, widened into the L1 cache. Strips of a pattern share their rows of x there; lanes
// (kernels/bf16_small_batch.h) read these for each value.
#pragma once
#include <memory>
#include <vector>

#include "kernels/bf16_small_batch.h"
#include "libsten/compute/product/nmg_packed.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

struct NmgBf16 {
  NmgPacked order;           // without offsets and values
  Index unit;                // row blocks that are widened at once
  std::vector<Index> first;  // [slabs, units]: offset in bytes
  Array<std::uint8_t> stream;

  // Packs a matrix with axis 0.
  explicit NmgBf16(const Tensor& a);

  Index units() const { return ceil_div(order.row_blocks, unit); }
  // Rows of a task: whole units and whole blocks of bf16_block_rows.
  Index task_rows() const;

  // Computes c[(end - begin) * m, bf16_width(tokens)] = row blocks begin to end times x, widened by
  // Bf16SmallBatchTable::widen_tokens(). begin: a multiple of `unit`.
  void multiply(Index begin, Index end, const float* x, Index tokens, float* c) const;
};

// Whether this is faster than lanes for this number of tokens.
bool is_for_bf16_strips(const Tensor& a, Index tokens);

// Made at the first call and cached with the tensor. For the weights of Bf16SmallBatchFactor.
std::shared_ptr<const NmgBf16> nmg_bf16(const Tensor& a);

}  // namespace sten
