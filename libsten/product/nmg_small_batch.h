// Products of n:m:g with few columns: one token, or a few, as in decoding.
#pragma once
#include "kernels/nmg_lanes.h"
#include "libsten/base/array.h"
#include "libsten/layout/nmg.h"
#include "libsten/product/panels.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// n:m:g as kernels/nmg_lanes.h reads it, made once per weight and kept in memory with it: 5 bytes a
// value. Where n > 1 a strip's column is there with each of its values.
struct NmgByLanes {
  Index rows, m, chunk, chunks, entries;
  Array<std::uint8_t> columns;
  Array<float> values;

  // F32 of rank 2 with axis 0, of chunks up to 256 columns.
  explicit NmgByLanes(const Nmg& a);

  Index groups() const { return ceil_div(ceil_div(rows, m), kernels::nmg_lanes); }
  kernels::NmgLanes group(Index i) const {
    const Index at = i * m * chunks * entries * kernels::nmg_lanes;
    return {m, chunks, chunk, entries, columns.data() + at, values.data() + at};
  }
};

// Whether nmg_small_batch_product() is the way for so many tokens, neither of panels.
bool takes_small_batch(const Nmg& a, Index tokens);

// The same as nmg_product().
void nmg_small_batch_product(const Tensor& a, const Activations& x, const ActivationsOut& y,
                             const Epilogue& epilogue);

}  // namespace sten
