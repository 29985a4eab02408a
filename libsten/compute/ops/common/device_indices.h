// SPDX-License-Identifier: Apache-2.0
// Index check on a device. Kernels never follow an index that is out of range: they count it, and
// write NaN to the result. No thread waits for the count: it is read after the next copy to the
// CPU, and that copy throws the error that the operator on the CPU would have thrown.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "libsten/core/tensor/tensor.h"

namespace sten {

// Calls launch(address of the device's count of invalid `numbers`), or launch(nullptr) if these
// were checked before for the same `what` (operator and extent). check(numbers on the CPU) throws
// the error.
void counting_invalid_indices(const Tensor& numbers, const std::string& what,
                              std::function<void(const Dense& numbers)> check,
                              const std::function<void(std::uint32_t*)>& launch);

}  // namespace sten
