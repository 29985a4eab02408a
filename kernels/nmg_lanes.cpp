#include "kernels/nmg_lanes.h"

#include "kernels/reference/nmg_lanes.h"
#include "kernels/simd/nmg_lanes.h"

namespace sten::kernels {

NmgLanesRun* nmg_lanes_for(Isa isa) {
  if (!has_isa(isa)) return nullptr;
  switch (isa) {
    case Isa::avx2:
      return nmg_lanes_avx2();
    case Isa::avx512:
      return nmg_lanes_avx512();
    default:
      return nmg_lanes_reference();
  }
}

NmgLanesRun& nmg_lanes_run() {
  static NmgLanesRun& run = *nmg_lanes_for(active_isa());
  return run;
}

}  // namespace sten::kernels
