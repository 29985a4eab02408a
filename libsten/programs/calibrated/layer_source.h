// SPDX-License-Identifier: Apache-2.0
// Pruning of a checkpoint's layers by statistics of their inputs, read from a file or measured by
// running the model on data.
#pragma once
#include <functional>
#include <memory>

#include "libsten/programs/calibrated/calibrated_weight.h"
#include "libsten/programs/plan/calibration_options.h"
#include "libsten/programs/plan/reorder.h"

namespace sten {

class LayerSource {
 public:
  virtual ~LayerSource() = default;
  // Prunes tensor t with values x; once per tensor. The result's weights are empty if kept values
  // do not change. t is a tensor that the source was made for.
  virtual CalibratedLayer prune(const CheckpointTensor& t, const Dense& x) = 0;
  // The output was written: nothing is needed to continue the calibration.
  virtual void finish() {}
  // Sentences on the measurements.
  virtual std::vector<std::string> notes() const { return {}; }
};

// The weights of a checkpoint to calibrate.
struct CalibrationRequest {
  const CalibrationOptions& options;
  const std::string& input;  // path of the checkpoint or model
  double sparsity;           // over all weights, to be allocated
  std::vector<CalibratedWeight> weights;
  const Checkpoint& in;
  const Reordering& reordering;
  // Returns the values of a tensor of `in`, ready to be ranked and in the order of `reordering`;
  // the statistics file and the model on data have the original order.
  std::function<Dense(const TensorInfo&)> load;
  bool show_progress = false;
};

}  // namespace sten
