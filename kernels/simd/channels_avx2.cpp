// SPDX-License-Identifier: Apache-2.0
#define STEN_TARGET STEN_AVX2
#include "kernels/channels.h"
#include "kernels/simd/channels_loops.h"
#include "kernels/simd/floats8.h"

namespace sten::kernels {

const ChannelsTable* channels_avx2() { return &table_of<simd::Channels<simd::Floats8>>; }

}  // namespace sten::kernels
