#include "kernels/epilogue.h"

#include "kernels/reference/epilogue.h"
#include "kernels/simd/epilogue.h"

namespace sten::kernels {

Finish* finish_for(Isa isa) {
  if (!has_isa(isa)) return nullptr;
  switch (isa) {
    case Isa::avx2:
      return finish_avx2();
    case Isa::avx512:
      return finish_avx512();
    default:
      return finish_reference();
  }
}

Finish& finish() {
  static Finish& run = *finish_for(active_isa());
  return run;
}

}  // namespace sten::kernels
