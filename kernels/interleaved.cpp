#include "kernels/interleaved.h"

#include "kernels/reference/interleaved.h"
#include "kernels/simd/interleaved.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<InterleavedTable>& tables() {
  static const Tables<InterleavedTable> all{{Isa::reference, interleaved_reference()},
                                            {Isa::avx2, interleaved_avx2()},
                                            {Isa::avx512, interleaved_avx512()},
                                            {Isa::avx512_bf16, interleaved_avx512_bf16()}};
  return all;
}

}  // namespace

const InterleavedTable* interleaved_for(Isa isa) { return tables().of(isa); }
const InterleavedTable& interleaved() { return tables().active(); }

}  // namespace sten::kernels
