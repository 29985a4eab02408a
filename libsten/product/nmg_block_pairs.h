// Block pairs of 1:m:g: two row blocks that load rows of B once (kernels/nmg_gemm.h).
#pragma once
#include "libsten/product/nmg_packed.h"

namespace sten {

// Reorders the slabs of `packed`, made of `a` with n = 1, to block pairs where they share enough
// columns.
void pair_row_blocks(NmgPacked& packed, const Nmg& a);

}  // namespace sten
