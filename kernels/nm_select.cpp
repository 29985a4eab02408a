#include "kernels/nm_select.h"

#include "kernels/reference/nm_select.h"
#include "kernels/simd/nm_select.h"

namespace sten::kernels {

const NmSelectTable* nm_select_for(Isa isa) {
  if (!has_isa(isa)) return nullptr;
  switch (isa) {
    case Isa::avx2:
      return nm_select_avx2();
    case Isa::avx512:
      return nm_select_avx512();
    default:
      return nm_select_reference();
  }
}

const NmSelectTable& nm_select() {
  static const NmSelectTable& table = *nm_select_for(active_isa());
  return table;
}

}  // namespace sten::kernels
