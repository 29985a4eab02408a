// Checks that run after the next copy from a device to the CPU.
#pragma once
#include <functional>

namespace sten {

// Calls f() once, after the next copy from a device to the CPU, which the host waits for anyway.
// The copy throws the exceptions of f(). For errors that a kernel finds while the host does not
// wait.
void after_next_copy_back(std::function<void()> f);

}  // namespace sten
