// The reference kernels of kernels/nm_sample.h.
#pragma once
#include "kernels/nm_sample.h"

namespace sten::kernels {

const NmSampleTable* nm_sample_reference();

}  // namespace sten::kernels
