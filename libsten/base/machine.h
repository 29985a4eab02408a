// What this machine has.
#pragma once
#include <cstdint>

namespace sten {

// Bytes of memory that this process can have at most: of the machine, of its control group, and of
// its own limit, whichever is least.
std::uint64_t machine_memory();

}  // namespace sten
