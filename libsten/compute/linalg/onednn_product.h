// SPDX-License-Identifier: Apache-2.0
// Products of dense matrices in low precision by oneDNN's optimized kernels.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "libsten/compute/linalg/dense_library.h"
#include "libsten/core/base/dtype.h"

namespace sten {

// C[m,n] = A[m,k] * B[k,n], row-major or transposed as in DenseProduct.
struct LowProduct {
  Transpose transposed = Transpose::none;
  Index m = 0, n = 0, k = 0;
  DType factors = DType::BF16;           // dtype of A and B: F32, BF16, F16 or I8
  DType result = DType::F32;             // dtype of C: F32 or BF16
  Transpose constant = Transpose::none;  // the factor that is a weight and may be packed once
  // For I8: multiplies C[i, j] by rows[i] and columns[j].
  const float *rows = nullptr, *columns = nullptr;
  int threads = 1;
};

class OnednnProduct {
 public:
  // The implementations of a product: with unpacked factors and, if one is constant and the library
  // prefers another order, with this factor packed. Empty if the library does not load or has only
  // plain loops. `rows` and `columns` must outlive the result.
  static std::vector<std::shared_ptr<OnednnProduct>> find(const LowProduct& product);
  virtual ~OnednnProduct() = default;

  // The library's name of the kernel, such as "brg:avx512_core_amx_bf16".
  virtual const std::string& kernel() const = 0;
  virtual bool packs() const = 0;
  // Packs the constant factor; call before the first run() if packs().
  virtual void pack(const void* constant) = 0;
  // Runs the product; ignores the constant factor if it is packed.
  virtual void run(const void* a, const void* b, void* c) const = 0;
};

}  // namespace sten
