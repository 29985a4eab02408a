// How much memory the process may still take.
#pragma once
#include <cstdint>
#include <string>

namespace sten {

// Bytes that the machine has left, its control group or its limit of address space, whichever is
// least; files in the page cache count as left. More than any machine has where the system does not say.
std::uint64_t memory_left();
// Error where that is less than `bytes`: "WHAT takes 64 GB, but 16 GB are available". A double, for files
// may ask for what no integer holds.
void check_memory(double bytes, const std::string& what);

}  // namespace sten
