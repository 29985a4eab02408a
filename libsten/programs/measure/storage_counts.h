// SPDX-License-Identifier: Apache-2.0
// Storage counts of a tensor, computed without its dense form if that would be far larger.
#pragma once
#include "libsten/core/tensor/tensor.h"
#include "libsten/programs/measure/measure.h"

namespace sten {

struct StorageCounts {
  Index stored = 0;  // stored positions; of dense: elements with nonzero bits
  Index zeros = 0;   // elements that are 0 or -0.0
};
StorageCounts storage_counts(const Tensor& t);

// All elements; or only the stored ones, as a vector, if the dense form would be far larger.
Dense elements_stored(const Tensor& t);

}  // namespace sten
