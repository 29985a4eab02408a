// SPDX-License-Identifier: Apache-2.0
// Choice of the kernels for bfloat16 products.
#pragma once
#include "kernels/tiles.h"

namespace sten {

// The kernels of active_isa(). The dot products of AVX-512 BF16, which run at half the rate of
// float32 on some processors, are replaced by AVX-512 kernels, unless STEN_ISA selects them or they
// are at least a fifth faster, which is measured once per process, in microseconds.
const kernels::TilesTable& bf16_kernels();

}  // namespace sten
