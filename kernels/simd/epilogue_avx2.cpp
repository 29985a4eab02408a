#define STEN_TARGET "avx2,fma,bmi,bmi2,f16c,popcnt"
#include "kernels/simd/epilogue.h"
#include "kernels/simd/epilogue_loops.h"

namespace sten::kernels::avx2 {
namespace {
struct Own;
}
}  // namespace sten::kernels::avx2

namespace sten::kernels {

Finish* finish_avx2() { return simd::Finishing<avx2::Own>::run; }

}  // namespace sten::kernels
