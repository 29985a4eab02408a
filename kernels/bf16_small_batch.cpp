#include "kernels/bf16_small_batch.h"

#include "kernels/reference/bf16_small_batch.h"
#include "kernels/simd/bf16_small_batch.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<Bf16SmallBatchTable>& tables() {
  static const Tables<Bf16SmallBatchTable> all{{Isa::reference, bf16_small_batch_reference()},
                                               {Isa::avx2, bf16_small_batch_avx2()},
                                               {Isa::avx512, bf16_small_batch_avx512()},
                                               {Isa::avx512, bf16_small_batch_avx512_vbmi2()},
                                               {Isa::amx, bf16_small_batch_amx()}};
  return all;
}

}  // namespace

const Bf16SmallBatchTable* bf16_small_batch_for(Isa isa) { return tables().of(isa); }
const Bf16SmallBatchTable& bf16_small_batch() { return tables().active(); }

}  // namespace sten::kernels
