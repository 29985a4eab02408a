#define STEN_TARGET "avx2,fma,bmi,bmi2,f16c,popcnt,avx512f,avx512cd,avx512bw,avx512dq,avx512vl"
#include "kernels/simd/epilogue.h"
#include "kernels/simd/epilogue_loops.h"

namespace sten::kernels::avx512 {
namespace {
struct Own;
}
}  // namespace sten::kernels::avx512

namespace sten::kernels {

Finish* finish_avx512() { return simd::Finishing<avx512::Own>::run; }

}  // namespace sten::kernels
