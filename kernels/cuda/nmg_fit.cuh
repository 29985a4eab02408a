// The exact fit of n:m:g on the device, one block a chunk.
#pragma once
#include "kernels/block/nmg_exact_chunk.h"

namespace sten::kernels::cuda {

template <class E>
bool nmg_fit(const NmgFormat& format, const NmgMatrix<E>& in, std::uint16_t* pattern_of);

}  // namespace sten::kernels::cuda
