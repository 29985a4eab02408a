#include "kernels/nmg_lanes.h"

#include "kernels/reference/nmg_lanes.h"
#include "kernels/simd/nmg_lanes.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<NmgLanesTable>& tables() {
  static const Tables<NmgLanesTable> all{{Isa::reference, nmg_lanes_reference()},
                                         {Isa::avx2, nmg_lanes_avx2()},
                                         {Isa::avx512, nmg_lanes_avx512()}};
  return all;
}

}  // namespace

const NmgLanesTable* nmg_lanes_for(Isa isa) { return tables().of(isa); }
const NmgLanesTable& nmg_lanes_table() { return tables().active(); }

}  // namespace sten::kernels
