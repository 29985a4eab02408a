#include "kernels/csr.h"

#include "kernels/reference/csr.h"
#include "kernels/simd/csr.h"

namespace sten::kernels {

CsrPanel* csr_panel_for(Isa isa) {
  if (!has_isa(isa)) return nullptr;
  switch (isa) {
    case Isa::avx2:
      return csr_panel_avx2();
    case Isa::avx512:
      return csr_panel_avx512();
    default:
      return csr_panel_reference;
  }
}

CsrPanel& csr_panel() {
  static CsrPanel* const panel = csr_panel_for(active_isa());
  return *panel;
}

}  // namespace sten::kernels
