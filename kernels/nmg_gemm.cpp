#include "kernels/nmg_gemm.h"

#include "kernels/reference/nmg_gemm.h"
#include "kernels/simd/nmg_gemm.h"

namespace sten::kernels {

NmgBlock* nmg_block_for(Isa isa) {
  if (!has_isa(isa)) return nullptr;
  switch (isa) {
    case Isa::avx2:
      return nmg_block_avx2();
    case Isa::avx512:
      return nmg_block_avx512();
    default:
      return nmg_block_reference;
  }
}

NmgBlock& nmg_block() {
  static NmgBlock* const block = nmg_block_for(active_isa());
  return *block;
}

}  // namespace sten::kernels
