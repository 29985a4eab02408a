// Memory of arrays.
#pragma once
#include <cstddef>
#include <memory>

namespace sten {

// `bytes` > 0 of memory, uninitialised, aligned to a cache line, which is also the widest vector.
// Large blocks are in huge pages where the system has them, and one that was freed is given out
// again rather than taken from the system anew: its page faults cost more than filling it.
std::shared_ptr<void> allocate(std::size_t bytes);

}  // namespace sten
