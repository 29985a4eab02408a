// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/plan/calibration_options.h"

#include "libsten/core/base/error.h"

namespace sten {

void check_sizes(const CalibrationOptions& o) {
  if (o.window.value_or(1) < 1) fail_usage("--calibrate-window must be >= 1, got {}", *o.window);
  if (o.rows() < 1) fail_usage("--calibrate-samples must be >= 1, got {}", o.rows());
}

}  // namespace sten
