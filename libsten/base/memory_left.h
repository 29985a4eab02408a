// How much memory the process may still take.
#pragma once
#include <cstdint>

namespace sten {

// Bytes that the machine has left, or the control group that the process is in where that is less;
// files in the page cache count as left. More than there is where the system does not say.
std::uint64_t memory_left();

}  // namespace sten
