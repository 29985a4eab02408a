#include "kernels/pairs.h"

#include "kernels/reference/pairs.h"
#include "kernels/simd/pairs.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<PairsTable>& tables() {
  static const Tables<PairsTable> all{{Isa::reference, pairs_reference()},
                                      {Isa::avx2, pairs_avx2()},
                                      {Isa::avx512, pairs_avx512()},
                                      {Isa::avx512_bf16, pairs_avx512_bf16()}};
  return all;
}

}  // namespace

const PairsTable* pairs_for(Isa isa) { return tables().of(isa); }
const PairsTable& pairs() { return tables().active(); }

}  // namespace sten::kernels
