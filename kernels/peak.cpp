#include "kernels/peak.h"

#include "kernels/reference/peak.h"
#include "kernels/simd/peak.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<PeakTable>& tables() {
  static const Tables<PeakTable> all{{Isa::reference, peak_reference()},
                                     {Isa::avx2, peak_avx2()},
                                     {Isa::avx512, peak_avx512()},
                                     {Isa::avx512_bf16, peak_avx512_bf16()},
                                     {Isa::amx, peak_amx()}};
  return all;
}

}  // namespace

const PeakTable* peak_for(Isa isa) { return tables().of(isa); }
const PeakTable& peak() { return tables().active(); }

}  // namespace sten::kernels
