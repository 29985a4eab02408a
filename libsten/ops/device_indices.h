// Numbers of rows and of classes that are on a device. Kernels never follow one that is out of range:
// they count it, and write NaN for what it names. Nobody waits for that count: it is looked at when
// the next copy to the CPU has come, and that copy then throws what the operator on the CPU would have
// thrown.
#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "libsten/tensor/tensor.h"

namespace sten {

// launch(where the device counts bad ones among `numbers`); nullptr where these have been looked at
// for the same `what`, such as the operator and the extent. check(numbers on the CPU) throws what is
// wrong with them.
void counting_invalid_indices(const Tensor& numbers, const std::string& what,
                              std::function<void(const Dense& numbers)> check,
                              const std::function<void(std::uint32_t*)>& launch);

}  // namespace sten
