// What a device does with products beside functions.h: of turned matrices, in batches, of rows of
// tokens, and those of gradients.
// What functions.h says of pointers, streams and bits holds here, too. All elements are floats unless
// said otherwise.
#pragma once
#include "kernels/block/functions.h"

namespace sten::kernels {

// What the factors of a dense product may be rounded to, to nearest: 10 or 7 bits of mantissa. They are
// read as floats, and so are sums and results.
enum class Factors : std::uint8_t { float32, tf32, bfloat16 };

// C[i] = alpha op(A[i]) op(B[i]) + beta C[i] for 0 <= i < batch, row-major: op(A) is [m, k], op(B)
// [k, n] and C [m, n]. Of a turned factor the transpose is stored: A [k, m], B [n, k]. `ld` is from
// row to row, `step` from matrix to matrix; 0 is one matrix for all. C's matrices share nothing.
// With beta 0 C is not read.
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

// Where a matrix has its values, as products with rows of tokens read them: a list for each of its
// rows, of columns, or for each of its columns, of rows. What lists name is cut into slabs of 128;
// entries are in the order of the slabs, of the lists in a slab, and ascending in those.
struct SlabLists {
  static constexpr std::int64_t slab = 128;
  std::int64_t lists = 0, width = 0;     // how many there are, and of how many each one chooses
  const std::int64_t* starts = nullptr;  // [slabs() * lists + 1], of the entries
  const std::uint8_t* at = nullptr;      // of an entry, within its slab
  const std::int32_t* slots = nullptr;   // of an entry, among the values as they are stored

  STEN_HOST_DEVICE std::int64_t slabs() const { return (width + slab - 1) / slab; }
};
// The same, to be written; `at` and `slots` have room for all values, starts for its own.
struct SlabListsRoom {
  std::int64_t* starts;
  std::uint8_t* at;
  std::int32_t* slots;
};

// The matrices that have lists. Values are fewer than 2^31.
struct CsrPositions {
  std::int64_t rows, cols;
  const std::int64_t* row_ptr;
  const std::int32_t* columns;
};
// Padding is in no list.
struct NmgPositions {
  std::int64_t rows, cols;
  NmgFormat format;
  const void* index;
};

// x[tokens, width] and y[tokens, lists]; by_features, x[width, tokens] and y[lists, tokens].
struct ListOperands {
  std::int64_t tokens;
  bool by_features;
  const float* x;
  const float* bias;
  float* y;
};
// dy as y, x likewise. With `adds` grad is what there is and the sum.
struct SampleOperands {
  std::int64_t tokens;
  bool by_features;
  const float *dy, *x;
  float* grad;
  bool adds;
};

struct GemmFunctions {
  // By the library of ProductFunctions::dense_library(), not called where there is none. The same
  // operands give the same bits on the same device.
  void (*dense)(const GemmOperands&, Stream);

  // The lists of rows; by_column, those of columns.
  void (*csr_lists)(const CsrPositions&, bool by_column, SlabListsRoom, Stream);
  void (*nmg_lists)(const NmgPositions&, bool by_column, SlabListsRoom, Stream);
  // y[t, i] = the sum of value * x[t, j] over the entries j of list i, plus bias[i] if there is one:
  // added up in ascending order of j by fused multiply-adds from 0. `values` are of `stored`
  // elements. An infinity in x stays in the lists that name it.
  void (*list_product)(const SlabLists&, const float* values, std::int64_t stored,
                       const ListOperands&, Stream);
  // The gradient of the values of lists of rows: grad[slot] = the sum of dy[t, i] * x[t, j] over the
  // tokens, in an order of the shapes' own, and 0 where no entry has the slot; grad[stored].
  void (*list_samples)(const SlabLists&, std::int64_t stored, const SampleOperands&, Stream);
};

}  // namespace sten::kernels
