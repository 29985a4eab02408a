// Stands in for simd/ where the compiler does not build for x86-64.
#include "kernels/simd/cpu.h"
#include "kernels/simd/elementwise.h"

namespace sten::kernels {

bool cpu_runs_avx2() { return false; }
bool cpu_runs_avx512() { return false; }

const ElementwiseTable* elementwise_avx2() { return nullptr; }
const ElementwiseTable* elementwise_avx512() { return nullptr; }

}  // namespace sten::kernels
