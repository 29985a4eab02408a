// What a device does with products beside functions.h: of turned matrices, in batches, and those of
// gradients.
// What functions.h says of pointers, streams and bits holds here, too. All elements are floats unless
// said otherwise.
#pragma once
#include "kernels/block/functions.h"

namespace sten::kernels {

// C[i] = alpha op(A[i]) op(B[i]) + beta C[i] for 0 <= i < batch, row-major: op(A) is [m, k], op(B)
// [k, n] and C [m, n]. Of a turned factor the transpose is stored: A [k, m], B [n, k]. `ld` is from
// row to row, `step` from matrix to matrix; 0 is one matrix for all. C's matrices share nothing.
// With beta 0 C is not read.
struct GemmOperands {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  const float* a = nullptr;
  std::int64_t lda = 0, a_step = 0;
  bool turn_a = false;
  const float* b = nullptr;
  std::int64_t ldb = 0, b_step = 0;
  bool turn_b = false;
  float* c = nullptr;
  std::int64_t ldc = 0, c_step = 0;
  float alpha = 1, beta = 0;
  bool tf32 = false;  // factors may be rounded to 10 bits of mantissa; sums are floats
};

struct GemmFunctions {
  // By the library of ProductFunctions::dense_library(), not called where there is none. The same
  // operands give the same bits on the same device.
  void (*dense)(const GemmOperands&, Stream);
};

}  // namespace sten::kernels
