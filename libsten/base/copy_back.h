// What waits for a copy from a device to the CPU.
#pragma once
#include <functional>

namespace sten {

// f() once, after the next copy from a device to the CPU is done, which the host waits for anyway; what
// it throws, the copy throws. For what a device finds wrong while nobody waits for it.
void after_next_copy_back(std::function<void()> f);

}  // namespace sten
