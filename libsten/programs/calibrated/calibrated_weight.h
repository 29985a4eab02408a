// SPDX-License-Identifier: Apache-2.0
// A weight that is pruned by the statistics of its inputs.
#pragma once
#include "libsten/compute/calibrate/layer.h"
#include "libsten/files/checkpoint/checkpoint.h"

namespace sten {

struct CalibratedWeight {
  const CheckpointTensor* tensor = nullptr;
  CalibratedOptions how;
};

}  // namespace sten
