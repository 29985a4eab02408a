#include "kernels/nmg_exact.h"

#include "kernels/reference/nmg_exact.h"
#include "kernels/simd/nmg_exact.h"

namespace sten::kernels {

const NmgExactTable* nmg_exact_for(Isa isa) {
  if (!has_isa(isa)) return nullptr;
  switch (isa) {
    case Isa::avx2:
      return nmg_exact_avx2();
    case Isa::avx512:
      return nmg_exact_avx512();
    default:
      return nmg_exact_reference();
  }
}

const NmgExactTable& nmg_exact() {
  static const NmgExactTable& table = *nmg_exact_for(active_isa());
  return table;
}

}  // namespace sten::kernels
