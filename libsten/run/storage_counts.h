// What a tensor stores, counted without its dense form where that would be far larger.
#pragma once
#include "libsten/run/measure.h"
#include "libsten/tensor/tensor.h"

namespace sten {

struct StorageCounts {
  Index stored = 0;  // positions; of dense those whose bits are not all zero
  Index zeros = 0;   // elements of the tensor that are 0 as numbers, -0.0 among them
};
StorageCounts storage_counts(const Tensor& t);

// All its elements, or where dense would be far larger, the stored ones as a line.
Dense elements_stored(const Tensor& t);

}  // namespace sten
