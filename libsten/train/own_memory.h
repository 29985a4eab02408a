// Values that last whatever becomes of the file that they are from.
#pragma once
#include "libsten/tensor/tensor.h"

namespace sten {

// In memory that nobody else holds: the first step need not copy it, and a file that it was mapped
// from may go.
Tensor in_own_memory(const Tensor& t, Device device);

}  // namespace sten
