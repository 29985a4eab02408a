#include "kernels/bf16_few.h"

#include "kernels/reference/bf16_few.h"
#include "kernels/simd/bf16_few.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<Bf16FewTable>& tables() {
  static const Tables<Bf16FewTable> all{{Isa::reference, bf16_few_reference()},
                                        {Isa::avx2, bf16_few_avx2()},
                                        {Isa::avx512, bf16_few_avx512()},
                                        {Isa::avx512, bf16_few_avx512_vbmi2()},
                                        {Isa::amx, bf16_few_amx()}};
  return all;
}

}  // namespace

const Bf16FewTable* bf16_few_for(Isa isa) { return tables().of(isa); }
const Bf16FewTable& bf16_few() { return tables().active(); }

}  // namespace sten::kernels
