// Products of weights with few tokens in bfloat16, with float32 sums, on threads() threads: they take
// as long as reading the weight does, for which there are packed forms of all layouts, dense too
// (kernels/bf16_small_batch.h).
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/bf16_small_batch.h"
#include "libsten/base/array.h"
#include "libsten/product/interleaved.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// Blocks of 64 rows in tiles. A masked tile takes 80 bytes and 2 for each value, a dense one 1 KB.
struct Bf16WeightTiles {
  Index rows = 0, cols = 0;
  bool is_masked = false;
  std::vector<Index> first;  // [blocks + 1]: bytes
  Array<std::uint8_t> stream;

  Index blocks() const { return std::ssize(first) - 1; }
  // Of 16 rows.
  Index groups_of(Index block) const {
    return std::min(kernels::bf16_block_groups,
                    ceil_div(rows, kernels::bf16_tile_rows) - block * kernels::bf16_block_groups);
  }
  Index tile_columns() const { return padded_features(cols) / tile_features; }
  kernels::Bf16Tiles block(Index b) const {
    return {stream.data() + first[b], groups_of(b), tile_columns(), is_masked};
  }
};

// Groups of 16 rows in lanes: 3 bytes for each value and for what is missing in a step, which is the
// more the fewer values there are, and 2 for each step. In narrow ones 2.5 bytes. In far ones little is
// missing but where some rows have fewer values than others.
struct Bf16WeightLanes {
  Index rows = 0, cols = 0;
  std::vector<Index> first;  // [groups + 1]: steps
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

// A weight of rank 2 in any layout that has a lossless way to csr, or dense, of F32, BF16 or F16,
// whose values are rounded to bfloat16. Made at the first call and kept with the tensor. Unsupported,
// which is an Error (usage), of others.
std::shared_ptr<const Bf16WeightTiles> bf16_weight_tiles(const Tensor& a);
// Lanes are narrow where that takes hardly more bytes, or hardly more steps than far ones.
std::shared_ptr<const Bf16WeightLanes> bf16_weight_lanes(const Tensor& a, bool far = false);
// The share of its elements that such a weight stores, and from which on its tiles are dense: with
// that many, reading them takes no longer.
double bf16_density(const Tensor& a);
double bf16_least_dense();

// Tokens that bf16_small_batch_product() takes.
inline constexpr Index bf16_max_small_batch = 32;

// y[M, N] = A[M, K] * x[K, N] and what the epilogue makes of it. A as above, and x and y of its
// extents and of bf16_max_small_batch tokens at most, else Error (usage). Results differ from exact ones by
// what rounding the factors to bfloat16 and sums to float32 does (and y to bfloat16); the bits do not
// depend on the number of threads. Where x has an infinity or NaN, all results of the token may be NaN.
void bf16_small_batch_product(const Tensor& a, const Interleaved& x, const ActivationsOut& y,
                              const Epilogue& epilogue = {});
void bf16_small_batch_product(const Tensor& a, const Interleaved& x, const InterleavedOut& y,
                              const InterleavedEpilogue& epilogue = {});

// A weight as bf16_small_batch_product() takes it, checked once: but for the first one of each packed form its
// products allocate nothing, once each thread has the memory that it works in.
class Bf16SmallBatchFactor {
 public:
  explicit Bf16SmallBatchFactor(Tensor a);
  void multiply(const Interleaved& x, const ActivationsOut& y, const Epilogue& epilogue = {}) const;
  void multiply(const Interleaved& x, const InterleavedOut& y,
                const InterleavedEpilogue& epilogue = {}) const;

  Index rows() const { return rows_; }
  Index cols() const { return cols_; }

 private:
  void check(const Interleaved& x, Index features, Index tokens) const;
  bool is_for_lanes(Index tokens) const;
  // write(first row, rows, sums) of each block, [parts][bf16_block_rows][bf16_most_tokens].
  template <class Write>
  void multiply_blocks(const Interleaved& x, Write&& write) const;

  Tensor a_;
  Index rows_ = 0, cols_ = 0;
  double density_ = 1;
};

}  // namespace sten
