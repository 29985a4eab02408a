// Products of csr that is read as it lies, float32, on threads() threads: of what is multiplied a
// few times only, such as activations and what comes back, so that packing it would not pay.
#pragma once
#include <vector>

#include "libsten/product/packed_strips.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// The positions of a csr tensor as a matrix [tokens, features], features being the last extent.
// Of rank 2 the tensor's own arrays.
struct CsrTokens {
  Index tokens, features;
  Array<std::int64_t> ptr;
  Array<std::int32_t> index;

  // With the values of a tensor of these positions.
  CsrEntries with(const Tensor& x) const;
};
// Kept with the positions. Unsupported, which is an Error (usage), of other than F32 csr without
// dims.
std::shared_ptr<const CsrTokens> tokens_of(const Tensor& x);

// Rows [first, first + count).
inline CsrEntries rows_of(const CsrEntries& a, Index first, Index count) {
  return {count, a.cols, a.ptr + first, a.index, a.values};
}

// Rows [first, first + count) dense, to[count, cols].
void unpack_rows(const CsrEntries& a, Index first, Index count, float* to);

// A^T, with memory of its own.
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

// The other matrix of a product: dense row-major, the transpose of a dense one, or csr. Of the latter
// two some rows and columns at a time are made.
struct RowsOperand {
  const float* dense = nullptr;  // [.., stride]
  Index stride = 0;
  bool is_transposed = false;
  const CsrEntries* sparse = nullptr;

  static RowsOperand of(const float* dense, Index stride) { return {dense, stride}; }
  static RowsOperand transposed(const float* dense, Index stride) { return {dense, stride, true}; }
  static RowsOperand of(const CsrEntries& sparse) { return {nullptr, 0, false, &sparse}; }
};

// y[M,n] = A[M,K] * B[K, col0 : col0 + n] + start[n]; start may be nullptr.
void csr_product(const CsrEntries& a, const RowsOperand& b, Index col0, Index n, const float* start,
                 float* y);

// The same turned: y[n,M].
void transposed_csr_product(const CsrEntries& a, const RowsOperand& b, Index col0, Index n,
                            float* y);

// sums[entry of A] = C[row] . B[column], C[M,n] and B[K,n]; rows of A lie one after the other from
// its entry 0 on.
void sampled_csr_product(const CsrEntries& a, const RowsOperand& c, const RowsOperand& b, Index n,
                         float* sums);

}  // namespace sten
