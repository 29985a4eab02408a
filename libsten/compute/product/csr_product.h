// SPDX-License-Identifier: Apache-2.0
// Products of unpacked csr, float32, on threads() threads: for operands that are multiplied only a
// few times, such as activations and gradients, where packing would not pay.
#pragma once
#include <vector>

#include "libsten/compute/product/packed_strips.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

// Positions of a csr tensor as a matrix [tokens, features], where features are the last extent. For
// rank 2, the tensor's own arrays.
struct CsrTokens {
  Index tokens, features;
  Array<std::int64_t> ptr;
  Array<std::int32_t> index;

  // The entries with the values of x, a tensor with these positions.
  CsrEntries with(const Tensor& x) const;
};
// Cached with the positions. Unsupported, an Error (usage), unless x is F32 csr without dims.
std::shared_ptr<const CsrTokens> tokens_of(const Tensor& x);

// Rows [first, first + count).
inline CsrEntries rows_of(const CsrEntries& a, Index first, Index count) {
  return {count, a.cols, a.ptr + first, a.index, a.values};
}

// Unpacks rows [first, first + count) to dense: to[count, cols].
void unpack_rows(const CsrEntries& a, Index first, Index count, float* to);

// A^T, in memory of its own.
class TransposedEntries {
 public:
  explicit TransposedEntries(const CsrEntries& a);
  CsrEntries entries() const { return {rows_, cols_, ptr_.data(), index_.data(), values_.data()}; }

 private:
  Index rows_, cols_;
  std::vector<std::int64_t> ptr_;
  Array<std::int32_t> index_;
  Array<float> values_;
};

// The other operand: dense row-major, the transpose of a dense matrix, or csr. Transposed and csr
// operands are unpacked, some rows and columns at a time.
struct RowsOperand {
  const float* dense = nullptr;  // [.., stride]
  Index stride = 0;
  bool is_transposed = false;
  const CsrEntries* sparse = nullptr;

  static RowsOperand of(const float* dense, Index stride) { return {dense, stride}; }
  static RowsOperand transposed(const float* dense, Index stride) { return {dense, stride, true}; }
  static RowsOperand of(const CsrEntries& sparse) { return {nullptr, 0, false, &sparse}; }
};

// Computes y[M,n] = A[M,K] * B[K, col0 : col0 + n] + start[n]; start may be nullptr.
void csr_product(const CsrEntries& a, const RowsOperand& b, Index col0, Index n, const float* start,
                 float* y);

// The same product, transposed: y[n,M].
void transposed_csr_product(const CsrEntries& a, const RowsOperand& b, Index col0, Index n,
                            float* y);

// Computes sums[entry of A] = C[row] . B[column] for C[M,n] and B[K,n]; entries are counted from
// A's entry 0.
void sampled_csr_product(const CsrEntries& a, const RowsOperand& c, const RowsOperand& b, Index n,
                         float* sums);

}  // namespace sten
