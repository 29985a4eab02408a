#include "kernels/nmg_fit.h"

#include "kernels/reference/nmg_exact.h"
#include "kernels/simd/nmg_exact.h"

namespace sten::kernels {

const NmgFitTable* nmg_fit_for(Isa isa) {
  if (!has_isa(isa)) return nullptr;
  switch (isa) {
    case Isa::avx2:
      return nmg_fit_avx2();
    case Isa::avx512:
      return nmg_fit_avx512();
    default:
      return nmg_fit_reference();
  }
}

const NmgFitTable& nmg_fit() {
  static const NmgFitTable& table = *nmg_fit_for(active_isa());
  return table;
}

}  // namespace sten::kernels
