// Bytes that the program has from operator new, which it replaces.
#pragma once
#include <atomic>
#include <cstdint>

namespace sten::testing {

// Now, and the most since somebody set it.
extern std::atomic<std::int64_t> in_use, peak;

}  // namespace sten::testing
