// SPDX-License-Identifier: Apache-2.0
// Calibration by a file of statistics (--statistics).
#pragma once
#include "libsten/programs/calibrated/layer_source.h"

namespace sten {

// Prunes each weight when the source is asked for it. Error if a weight has no statistics.
std::unique_ptr<LayerSource> layers_of_file(const CalibrationRequest& request);

}  // namespace sten
