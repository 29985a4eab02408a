#include "kernels/nm_sample.h"

#include "kernels/reference/nm_sample.h"
#include "kernels/simd/nm_sample.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<NmSampleTable>& tables() {
  static const Tables<NmSampleTable> all{{Isa::reference, nm_sample_reference()},
                                         {Isa::avx2, nm_sample_avx2()},
                                         {Isa::avx512, nm_sample_avx512()}};
  return all;
}

}  // namespace

const NmSampleTable* nm_sample_for(Isa isa) { return tables().of(isa); }
const NmSampleTable& nm_sample() { return tables().active(); }

}  // namespace sten::kernels
