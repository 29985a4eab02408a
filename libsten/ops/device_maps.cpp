#include "libsten/ops/device.h"
#include "libsten/ops/register.h"

namespace sten {

void add_device_maps(Operators&) {}

}  // namespace sten
