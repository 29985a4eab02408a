// The reference kernels of kernels/channels.h.
#pragma once
#include "kernels/channels.h"

namespace sten::kernels {

const ChannelsTable* channels_reference();

}  // namespace sten::kernels
