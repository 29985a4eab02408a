#define STEN_TARGET "avx2,fma,bmi,bmi2,f16c,popcnt"
#include "kernels/simd/epilogue.h"
#include "kernels/simd/epilogue_loops.h"

namespace sten::kernels {
namespace {
struct Own;
}

Finish* finish_avx2() { return simd::Finishing<Own>::run; }

}  // namespace sten::kernels
