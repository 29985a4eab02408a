#include "kernels/csr.h"

#include "kernels/reference/csr.h"
#include "kernels/simd/csr.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<CsrTable>& tables() {
  static const Tables<CsrTable> all{{Isa::reference, csr_gemm_reference()},
                                    {Isa::avx2, csr_gemm_avx2()},
                                    {Isa::avx512, csr_gemm_avx512()}};
  return all;
}

}  // namespace

const CsrTable* csr_gemm_for(Isa isa) { return tables().of(isa); }
const CsrTable& csr_gemm() { return tables().active(); }

}  // namespace sten::kernels
