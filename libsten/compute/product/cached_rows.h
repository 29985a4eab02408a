// SPDX-License-Identifier: Apache-2.0
// Rows of a KV cache, in float32 or in bfloat16.
#pragma once
#include "kernels/interleaved.h"
#include "libsten/compute/product/panels.h"
#include "libsten/core/base/array.h"
#include "libsten/core/base/dtype.h"

namespace sten {

// Matrix [rows, panel_width], initially 0. In bfloat16, rows 2k and 2k + 1 are interleaved
// (kernels/interleaved.h); products are in float32.
class CachedRows {
 public:
  // dtype: F32 or BF16. Any number of rows, which is rounded up to an even one.
  CachedRows(DType dtype, Index rows);

  Index bytes() const;
  // Writes elements, which are rounded to bfloat16 if the rows have it.
  class Writer {
   public:
    void set(Index row, Index column, float x) const {
      if (floats_)
        floats_[row * panel_width + column] = x;
      else
        interleaved_[row / 2 * 2 * panel_width + 2 * column + row % 2] = kernels::round_to_bf16(x);
    }

   private:
    friend CachedRows;
    float* floats_;
    std::uint16_t* interleaved_;
  };
  Writer writer();
  // Computes C = A * R for the n rows R from `first` on. A [count, n] with row stride lda, C
  // [count, panel_width]. Each row of C is summed in the order of R's rows, for every count.
  void multiply(const float* a, Index lda, Index count, Index first, Index n, float* c) const;

 private:
  Array<float> floats_;
  Array<std::uint16_t> interleaved_;
};

}  // namespace sten
