// SPDX-License-Identifier: Apache-2.0
// What decides the results of a calibration, as hashes.
#pragma once
#include <string>

#include "libsten/programs/calibrated/calibration_data.h"
#include "libsten/programs/calibrated/layer_source.h"

namespace sten {

// As text.
struct CalibrationIdentity {
  std::string model, data, options;
};

// Of the model's graph and all of its tensors; of the inputs; and of the options of each weight, with
// its values as they are ranked.
CalibrationIdentity identity_of(const CalibrationRequest& request, const Graph& graph,
                                const CalibrationInputs& inputs);

}  // namespace sten
