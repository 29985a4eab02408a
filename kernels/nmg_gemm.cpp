#include "kernels/nmg_gemm.h"

#include <iterator>

#include "kernels/reference/nmg_gemm.h"
#include "kernels/simd/nmg_gemm.h"

namespace sten::kernels {

const NmgGemmTable* nmg_gemm_for(Isa isa) {
  if (!has_isa(isa)) return nullptr;
  switch (isa) {
    case Isa::avx2:
      return nmg_gemm_avx2();
    case Isa::avx512:
      return nmg_gemm_avx512();
    default:
      return nmg_gemm_reference();
  }
}

const NmgGemmTable& nmg_gemm() {
  static const NmgGemmTable& table = *nmg_gemm_for(active_isa());
  return table;
}

NmgRun* nmg_run(std::int64_t width) {
  for (std::size_t i = 0; i < std::size(nmg_widths); ++i)
    if (nmg_widths[i] == width) return nmg_gemm().run[i];
  return nullptr;
}

}  // namespace sten::kernels
