#include "kernels/nmg_exact.h"

#include "kernels/reference/nmg_exact.h"
#include "kernels/simd/nmg_exact.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<NmgExactTable>& tables() {
  static const Tables<NmgExactTable> all{{Isa::reference, nmg_exact_reference()},
                                         {Isa::avx2, nmg_exact_avx2()},
                                         {Isa::avx512, nmg_exact_avx512()}};
  return all;
}

}  // namespace

const NmgExactTable* nmg_exact_for(Isa isa) { return tables().of(isa); }
const NmgExactTable& nmg_exact() { return tables().active(); }

}  // namespace sten::kernels
