// What this machine has.
#pragma once
#include <cstdint>
#include <string>

namespace sten {

// Bytes of memory that this process can have at most: of the machine, of its control group, and of
// its own limit, whichever is least.
std::uint64_t machine_memory();
// Error where that is less than `bytes`: "WHAT takes 64 GB, and there are 16". A double, for files
// may ask for what no integer holds.
void check_memory(double bytes, const std::string& what);

}  // namespace sten
