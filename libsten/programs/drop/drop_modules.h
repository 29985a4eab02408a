// SPDX-License-Identifier: Apache-2.0
// sten-prune --drop-layers and --drop-experts: removes layers and experts of a causal language model.
#pragma once
#include "libsten/core/base/device_spec.h"
#include "libsten/programs/plan/calibration_options.h"
#include "libsten/programs/rewrite/rewrite.h"

namespace sten {

struct DropOptions {
  std::string input;  // a Hugging Face directory
  OutputOptions output;
  CalibrationOptions calibration;        // data, samples and window
  std::optional<Index> layers, experts;  // how many to remove; of each mixture
  DeviceSpec device;
  bool show_progress = false;

  bool is_given() const { return layers || experts; }
  // The given flag, for messages.
  const char* flag() const { return layers ? "--drop-layers" : "--drop-experts"; }
};

// Removes the layers with the smallest block influence (block_influence.h), and in each mixture the
// experts with the smallest sums of router weights, both in one run of the dense model on the
// calibration data; of equal ones, the last. Memory holds the weights of about one layer, and the
// activations of all samples between two layers. The output is a directory with the tensors and the
// config.json of the smaller model. Error (usage) for options or a model that do not fit.
Outcome drop_modules(const DropOptions& options);

}  // namespace sten
