#include "kernels/functions.h"

#include "kernels/reference/functions.h"
#include "kernels/simd/functions.h"

namespace sten::kernels {

const FunctionsTable* functions_for(Isa isa) {
  if (!has_isa(isa)) return nullptr;
  switch (isa) {
    case Isa::avx2:
      return functions_avx2();
    case Isa::avx512:
      return functions_avx512();
    default:
      return functions_reference();
  }
}

const FunctionsTable& functions() {
  static const FunctionsTable& table = *functions_for(active_isa());
  return table;
}

}  // namespace sten::kernels
