// The tables of kernels/channels.h by ISA; nullptr if the build lacks it.
#pragma once
#include "kernels/channels.h"

namespace sten::kernels {

const ChannelsTable* channels_avx2();
const ChannelsTable* channels_avx512();

}  // namespace sten::kernels
