// SPDX-License-Identifier: Apache-2.0
// Checks that run after the next copy from a device to the CPU.
#pragma once
#include <functional>

namespace sten {

// Calls f() once, after the next copy from a device to the CPU, which throws the exceptions of f().
// For errors that kernels find while the host does not wait.
void after_next_copy_back(std::function<void()> f);

}  // namespace sten
