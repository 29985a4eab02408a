// n:m:g with n > 1 in bfloat16 for few tokens: the packed form of float32 products in half the bytes,
// widened into the first cache. The strips of a pattern share their rows of x there, which lanes
// (kernels/bf16_small_batch.h) read for each value.
#pragma once
#include <memory>
#include <vector>

#include "kernels/bf16_small_batch.h"
#include "libsten/product/nmg_packed.h"
#include "libsten/tensor/tensor.h"

namespace sten {

struct NmgBf16 {
  NmgPacked order;           // without offsets and values
  Index unit;                // row blocks that are widened at once
  std::vector<Index> first;  // [slabs, units]: bytes
  Array<std::uint8_t> stream;

  // A matrix with axis 0.
  explicit NmgBf16(const Tensor& a);

  Index units() const { return ceil_div(order.row_blocks, unit); }
  // Rows of as few whole units as are whole blocks of bf16_block_rows.
  Index task_rows() const;

  // c[(end - begin) * m, bf16_width(tokens)] = row blocks begin to end times x, which is as
  // Bf16SmallBatchTable::widen_tokens() makes it. begin: a multiple of `unit`.
  void multiply(Index begin, Index end, const float* x, Index tokens, float* c) const;
};

// Whether so many tokens are multiplied sooner so than with lanes.
bool is_for_bf16_strips(const Tensor& a, Index tokens);

// Made at the first call and kept with the tensor. Bf16SmallBatchFactor says of which.
std::shared_ptr<const NmgBf16> nmg_bf16(const Tensor& a);

}  // namespace sten
