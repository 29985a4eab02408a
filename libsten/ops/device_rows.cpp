#include "libsten/ops/device.h"
#include "libsten/ops/register.h"

namespace sten {

void add_device_rows(Operators&) {}

}  // namespace sten
