#include "kernels/csr.h"

#include "kernels/reference/csr.h"
#include "kernels/simd/csr.h"

namespace sten::kernels {

const CsrTable* csr_gemm_for(Isa isa) {
  if (!has_isa(isa)) return nullptr;
  switch (isa) {
    case Isa::avx2:
      return csr_gemm_avx2();
    case Isa::avx512:
      return csr_gemm_avx512();
    default:
      return csr_gemm_reference();
  }
}

const CsrTable& csr_gemm() {
  static const CsrTable& table = *csr_gemm_for(active_isa());
  return table;
}

}  // namespace sten::kernels
