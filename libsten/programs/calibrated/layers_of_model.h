// SPDX-License-Identifier: Apache-2.0
// Calibration by running the model on data (--calibrate).
#pragma once
#include "libsten/programs/calibrated/layer_source.h"

namespace sten {

// Prunes the weights of the request; the source returns them. Its memory holds the weights of about
// a block, with --calibration-cache no activations, and no pruned layers.
std::unique_ptr<LayerSource> layers_of_model(const CalibrationRequest& request);

}  // namespace sten
