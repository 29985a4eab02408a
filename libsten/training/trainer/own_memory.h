// SPDX-License-Identifier: Apache-2.0
// Copies of values that do not depend on their file.
#pragma once
#include "libsten/core/tensor/tensor.h"

namespace sten {

// Copies a tensor to memory that is not shared, so that the first step can update it in place, and
// a mapped file can be removed.
Tensor in_own_memory(const Tensor& t, Device device);

}  // namespace sten
