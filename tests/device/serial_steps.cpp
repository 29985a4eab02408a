#include "kernels/block/steps/steps.h"
#include "tests/device/serial_tables.h"

namespace sten::testing {

kernels::StepFunctions serial_steps() { return {}; }

}  // namespace sten::testing
