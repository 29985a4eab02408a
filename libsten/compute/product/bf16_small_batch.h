// SPDX-License-Identifier: Apache-2.0
// Products of weights with small batches in bfloat16, with float32 sums, on threads() threads.
// Their time is that of reading the weight, so all layouts, including dense, have packed forms
// (kernels/bf16_small_batch.h).
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/bf16_small_batch.h"
#include "libsten/compute/product/interleaved.h"
#include "libsten/core/base/array.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

// Dense rows, padded to groups of 16 rows and to 32 columns.
struct Bf16WeightRows {
  Index rows = 0, cols = 0;
  Array<std::uint16_t> values;

  Index columns() const { return padded_features(cols); }
  const std::uint16_t* group(Index i) const {
    return values.data() + i * kernels::bf16_tile_rows * columns();
  }
};

// Tiles of blocks of 64 rows. A masked tile takes 80 bytes and 2 per value, a dense one 1 KB.
struct Bf16WeightTiles {
  Index rows = 0, cols = 0;
  bool is_masked = false;
  std::vector<Index> first;  // [blocks + 1]: start of each block in bytes
  Array<std::uint8_t> stream;

  Index blocks() const { return std::ssize(first) - 1; }
  // Number of groups of 16 rows.
  Index groups_of(Index block) const {
    return std::min(kernels::bf16_block_groups,
                    ceil_div(rows, kernels::bf16_tile_rows) - block * kernels::bf16_block_groups);
  }
  Index tile_columns() const { return padded_features(cols) / tile_features; }
  kernels::Bf16Tiles block(Index b) const {
    return {stream.data() + first[b], groups_of(b), tile_columns(), is_masked};
  }
};

// Lanes: groups of 16 rows, with 3 bytes per slot of a step (2.5 if narrow), also for empty slots,
// and 2 bytes per step. Fewer values leave more slots empty. With far windows, slots are empty only
// where some rows have fewer values than others.
struct Bf16WeightLanes {
  Index rows = 0, cols = 0;
  std::vector<Index> first;  // [groups + 1]: start of each group in steps
  Array<std::uint16_t> advance;
  Array<std::uint8_t> steps;
  bool is_narrow = false;

  Index groups() const { return std::ssize(first) - 1; }
  kernels::Bf16Lanes group(Index g) const {
    return {advance.data() + first[g],
            steps.data() + first[g] * kernels::bf16_step_bytes(is_narrow), first[g + 1] - first[g],
            is_narrow};
  }
};

// The packed forms of a weight of rank 2, dense or losslessly convertible to csr, of F32, BF16 or
// F16; values are rounded to bfloat16. Made at the first call and cached with the tensor.
// Unsupported, an Error (usage), for other weights.
std::shared_ptr<const Bf16WeightRows> bf16_weight_rows(const Tensor& a);
std::shared_ptr<const Bf16WeightTiles> bf16_weight_tiles(const Tensor& a);
// Lanes are narrow if that takes hardly more bytes or, for `far`, hardly more steps.
std::shared_ptr<const Bf16WeightLanes> bf16_weight_lanes(const Tensor& a, bool far = false);
// bf16_density(): the share of elements that the weight stores. bf16_least_dense(): the density
// from which on tiles are dense, or rows are used, because reading them takes no longer.
double bf16_density(const Tensor& a);
double bf16_least_dense();

// Maximum number of tokens of bf16_small_batch_product().
inline constexpr Index bf16_max_small_batch = 32;

// A checked weight for bf16_small_batch_product(). After the first product of each packed form,
// products allocate nothing, once each thread has its scratch.
class Bf16SmallBatchFactor {
 public:
  explicit Bf16SmallBatchFactor(Tensor a);
  void multiply(const Interleaved& x, const ActivationsOut& y, const Epilogue& epilogue = {}) const;
  void multiply(const Interleaved& x, const InterleavedOut& y,
                const InterleavedEpilogue& epilogue = {}) const;

 private:
  template <class Y>
  void check(const Interleaved& x, const Y& y) const;
  // Calls write(first row, rows, sums) for each block or group of rows.
  template <class Write>
  void multiply_blocks(const Interleaved& x, const Write& write) const;

  Tensor a_;
  Index rows_ = 0, cols_ = 0;
  double density_ = 1;
};

// Computes y[M, N] = A[M, K] * x[K, N] and applies the epilogue. A: as above. Error (usage) for
// mismatched extents or more than bf16_max_small_batch tokens. Errors are those of rounding factors
// to bfloat16, sums to float32 and y to its dtype. Deterministic for every number of threads. If x
// has an infinity or NaN, all results of the token may be NaN.
template <class Y>
void bf16_small_batch_product(const Tensor& a, const Interleaved& x, const Y& y,
                              const typename EpilogueFor<Y>::Type& epilogue = {}) {
  Bf16SmallBatchFactor(a).multiply(x, y, epilogue);
}

}  // namespace sten
