#include "kernels/panels.h"

#include "kernels/reference/panels.h"
#include "kernels/simd/panels.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<PanelsTable>& tables() {
  static const Tables<PanelsTable> all{{Isa::reference, panels_reference()},
                                       {Isa::avx2, panels_avx2()},
                                       {Isa::avx512, panels_avx512()}};
  return all;
}

}  // namespace

const PanelsTable* panels_for(Isa isa) { return tables().of(isa); }
const PanelsTable& panels() { return tables().active(); }

}  // namespace sten::kernels
