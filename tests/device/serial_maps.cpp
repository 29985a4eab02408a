#include "kernels/block/maps/maps.h"
#include "tests/device/serial_tables.h"

namespace sten::testing {

kernels::MapFunctions serial_maps() { return {}; }

}  // namespace sten::testing
