// Products of dense matrices in low precision by oneDNN, as far as it has kernels for this machine.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "libsten/base/dtype.h"
#include "libsten/linalg/dense_library.h"

namespace sten {

// C[m,n] = A[m,k] * B[k,n], row-major and turned as a DenseProduct has it.
struct LowProduct {
  Transpose transposed = Transpose::none;
  Index m = 0, n = 0, k = 0;
  DType factors = DType::BF16;           // of A and B: F32, BF16, F16 or I8
  DType result = DType::F32;             // of C: F32 or BF16
  Transpose constant = Transpose::none;  // which factor is a weight, that may be packed once
  // Of I8: element i, j of C is times rows[i] and columns[j].
  const float *rows = nullptr, *columns = nullptr;
  int threads = 1;
};

class OnednnProduct {
 public:
  // The product with both factors unpacked and, if one is constant and the
  // library likes better in an order of its own, with that packed. Empty where the library is not
  // there or has plain loops alone. `rows` and `columns` have to stay.
  static std::vector<std::shared_ptr<OnednnProduct>> find(const LowProduct& product);
  virtual ~OnednnProduct() = default;

  // What the library calls its kernel, as "brg:avx512_core_amx_bf16".
  virtual const std::string& kernel() const = 0;
  virtual bool packs() const = 0;
  // Before the first run where it packs: the constant factor, unpacked.
  virtual void pack(const void* constant) = 0;
  // The constant factor is not read where it was packed.
  virtual void run(const void* a, const void* b, void* c) const = 0;
};

}  // namespace sten
