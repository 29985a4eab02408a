// SPDX-License-Identifier: Apache-2.0
// Dense products, batched and transposed, and products of sparse matrices with rows of tokens and
// their gradients, as functions of a device. The rules of functions.h for pointers, streams and
// bits apply. Elements are float32 unless stated.
#pragma once
#include "kernels/block/functions.h"

namespace sten::kernels {

// Rounding of the factors of a dense product, to nearest: tf32 has 10 bits of mantissa, bfloat16
// has 7. Operands, sums and results are stored as float32.
enum class Factors : std::uint8_t { float32, tf32, bfloat16 };

// C[i] = alpha op(A[i]) op(B[i]) + beta C[i] for 0 <= i < batch, row-major: op(A) [m, k], op(B) [k,
// n], C [m, n]. A transposed factor is stored as A [k, m] or B [n, k]. `ld` is the row stride,
// `step` the matrix stride; step 0 uses one matrix for the whole batch. The matrices of C do not
// overlap. With beta 0, C is not read.
struct GemmOperands {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  const float* a = nullptr;
  std::int64_t lda = 0, a_step = 0;
  bool transpose_a = false;
  const float* b = nullptr;
  std::int64_t ldb = 0, b_step = 0;
  bool transpose_b = false;
  float* c = nullptr;
  std::int64_t ldc = 0, c_step = 0;
  float alpha = 1, beta = 0;
  Factors factors = Factors::float32;
};

// The stored positions of a matrix, ordered for products with rows of tokens: one list of columns
// per row, or one list of rows per column. The listed indices are cut into slabs of 128. Entries
// are ordered by slab, then by list, and ascend within a list.
struct SlabLists {
  static constexpr std::int64_t slab = 128;
  std::int64_t lists = 0, width = 0;     // number of lists, and extent of the listed indices
  const std::int64_t* starts = nullptr;  // [slabs() * lists + 1], first entry
  const std::uint8_t* at = nullptr;      // per entry, index within its slab
  const std::int32_t* slots = nullptr;   // per entry, index of its value in the layout

  STEN_HOST_DEVICE std::int64_t slabs() const { return (width + slab - 1) / slab; }
};
// Output arrays for SlabLists; `at` and `slots` have room for all values, starts [slabs() * lists +
// 1].
struct SlabListsRoom {
  std::int64_t* starts;
  std::uint8_t* at;
  std::int32_t* slots;
};

// Matrices that lists are made from. Fewer than 2^31 values.
struct CsrPositions {
  std::int64_t rows, cols;
  const std::int64_t* row_ptr;
  const std::int32_t* columns;
};
// Padding is not listed.
struct NmgPositions {
  std::int64_t rows, cols;
  NmgFormat format;
  const void* index;
};

// x [tokens, width] and y [tokens, lists]; with by_features, x [width, tokens] and y [lists,
// tokens].
struct ListOperands {
  std::int64_t tokens;
  bool by_features;
  const float* x;
  const float* bias;
  float* y;
};
// dy has the shape of y, x that of x in ListOperands. With `adds`, grad is incremented.
struct SampleOperands {
  std::int64_t tokens;
  bool by_features;
  const float *dy, *x;
  float* grad;
  bool adds;
};

struct GemmFunctions {
  // Dense product by the library of ProductFunctions::dense_library(), without which it must not be
  // called. Deterministic: the same operands give the same bits on the same device.
  void (*dense)(const GemmOperands&, Stream);

  // Builds the lists of rows; with by_column, those of columns.
  void (*csr_lists)(const CsrPositions&, bool by_column, SlabListsRoom, Stream);
  void (*nmg_lists)(const NmgPositions&, bool by_column, SlabListsRoom, Stream);
  // y[t, i] = sum of value * x[t, j] over the entries j of list i, plus bias[i] unless it is
  // nullptr. Sums start from 0, in ascending order of j, by fused multiply-adds. values [stored].
  // An infinity in x affects only lists that contain its index.
  void (*list_product)(const SlabLists&, const float* values, std::int64_t stored,
                       const ListOperands&, Stream);
  // Gradient of the values of lists of rows: grad[slot] = sum of dy[t, i] * x[t, j] over the
  // tokens, and 0 for a slot without an entry; grad [stored]. The order of summation depends only
  // on the shapes.
  void (*list_samples)(const SlabLists&, std::int64_t stored, const SampleOperands&, Stream);
};

}  // namespace sten::kernels
