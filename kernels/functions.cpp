#include "kernels/functions.h"

#include "kernels/reference/functions.h"
#include "kernels/simd/functions.h"
#include "kernels/table.h"

namespace sten::kernels {
namespace {

const Tables<FunctionsTable>& tables() {
  static const Tables<FunctionsTable> all{{Isa::reference, functions_reference()},
                                          {Isa::avx2, functions_avx2()},
                                          {Isa::avx512, functions_avx512()}};
  return all;
}

}  // namespace

const FunctionsTable* functions_for(Isa isa) { return tables().of(isa); }
const FunctionsTable& functions() { return tables().active(); }

}  // namespace sten::kernels
