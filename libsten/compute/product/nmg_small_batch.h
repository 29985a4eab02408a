// SPDX-License-Identifier: Apache-2.0
// Products of n:m:g with small batches: one or a few tokens, as in decoding.
#pragma once
#include "kernels/nmg_small_batch.h"
#include "libsten/compute/product/product_impl.h"
#include "libsten/core/base/array.h"
#include "libsten/core/layout/nmg.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

// n:m:g packed for kernels/nmg_small_batch.h, cached with the tensor: 5 bytes per value. With n > 1, each
// value of a strip has a copy of the column.
struct NmgByLanes {
  Index rows, m, chunk, chunks, entries;
  Array<std::uint8_t> columns;
  Array<float> values;

  // For F32, rank 2, axis 0, with chunks of at most 256 columns.
  explicit NmgByLanes(const Nmg& a);

  Index groups() const { return ceil_div(ceil_div(rows, m), kernels::nmg_lanes); }
  kernels::NmgLanes group(Index i) const {
    const Index at = i * m * chunks * entries * kernels::nmg_lanes;
    return {m, chunks, chunk, entries, columns.data() + at, values.data() + at};
  }
};

// Whether A is nmg with axis 0, for which nmg_small_batch_product() is faster than panels.
bool supports_nmg_lanes(const Tensor& a, const ProductCall& call);

// Computes y[M, N] = A[M, K] * x[K, N] and applies the epilogue, for activations without panels.
void nmg_small_batch_product(const Tensor& a, const Activations& x, const ActivationsOut& y,
                             const Epilogue& epilogue);

}  // namespace sten
