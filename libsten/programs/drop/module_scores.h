// SPDX-License-Identifier: Apache-2.0
// The scores of the layers and experts of a causal language model, measured on calibration data.
#pragma once
#include "libsten/model/nn/causal_layers.h"
#include "libsten/programs/calibrated/calibration_data.h"
#include "libsten/programs/calibrated/model_weights.h"

namespace sten {

struct ModuleScores {
  std::vector<double> influence;  // block influence of each layer
  // By layer and expert: the sum of the router's weights for its tokens. Empty without a mixture.
  std::vector<std::vector<double>> router_weights;
  Index positions = 0;      // tokens
  Index most_bytes = 0;     // peak of stored activations
  bool is_rounded = false;  // whether stored activations are BF16
};

// Runs the model on the batches, layer by layer. Error if the influence of a layer is not finite.
ModuleScores score_modules(ModelWeights& model, const CausalLayers& layers,
                           const CalibrationInputs& batches, bool show_progress);

}  // namespace sten
