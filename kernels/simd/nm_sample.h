// The tables of kernels/nm_sample.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/nm_sample.h"

namespace sten::kernels {

const NmSampleTable* nm_sample_avx2();
const NmSampleTable* nm_sample_avx512();

}  // namespace sten::kernels
