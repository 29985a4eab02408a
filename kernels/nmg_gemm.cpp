#include "kernels/nmg_gemm.h"

#include <iterator>

#include "kernels/reference/nmg_gemm.h"
#include "kernels/simd/nmg_gemm.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<NmgGemmTable>& tables() {
  static const Tables<NmgGemmTable> all{{Isa::reference, nmg_gemm_reference()},
                                        {Isa::avx2, nmg_gemm_avx2()},
                                        {Isa::avx512, nmg_gemm_avx512()}};
  return all;
}

}  // namespace

const NmgGemmTable* nmg_gemm_for(Isa isa) { return tables().of(isa); }
const NmgGemmTable& nmg_gemm() { return tables().active(); }

NmgRun* nmg_run(std::int64_t width) {
  for (std::size_t i = 0; i < std::size(nmg_widths); ++i)
    if (nmg_widths[i] == width) return nmg_gemm().run[i];
  return nullptr;
}

}  // namespace sten::kernels
