// Row blocks of 1:m:g in pairs, whose products load fewer rows of B: see kernels/nmg_gemm.h.
#pragma once
#include "libsten/product/nmg_packed.h"

namespace sten {

// Puts the slabs of `packed`, which is made of `a`, in the order of pairs where enough columns can
// be shared to be worth it. n is 1.
void pair_row_blocks(NmgPacked& packed, const Nmg& a);

}  // namespace sten
