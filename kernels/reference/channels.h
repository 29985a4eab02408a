#pragma once
#include "kernels/channels.h"

namespace sten::kernels {

const ChannelsTable* channels_reference();

}  // namespace sten::kernels
