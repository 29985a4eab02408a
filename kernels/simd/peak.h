// run_fmas() of kernels/peak.h by ISA; 0 where the build lacks it.
#pragma once
#include <cstdint>

namespace sten::kernels {

double run_fmas_avx2(std::int64_t rounds);
double run_fmas_avx512(std::int64_t rounds);

}  // namespace sten::kernels
