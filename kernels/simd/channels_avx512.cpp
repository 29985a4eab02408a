// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX512
#include "kernels/channels.h"
#include "kernels/simd/channels_loops.h"
#include "kernels/simd/floats16.h"

namespace sten::kernels {

const ChannelsTable* channels_avx512() { return &table_of<simd::Channels<simd::Floats16>>; }

}  // namespace sten::kernels
