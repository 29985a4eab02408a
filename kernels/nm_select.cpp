#include "kernels/nm_select.h"

#include "kernels/reference/nm_select.h"
#include "kernels/simd/nm_select.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<NmSelectTable>& tables() {
  static const Tables<NmSelectTable> all{{Isa::reference, nm_select_reference()},
                                         {Isa::avx2, nm_select_avx2()},
                                         {Isa::avx512, nm_select_avx512()}};
  return all;
}

}  // namespace

const NmSelectTable* nm_select_for(Isa isa) { return tables().of(isa); }
const NmSelectTable& nm_select() { return tables().active(); }

}  // namespace sten::kernels
