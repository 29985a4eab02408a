// Bytes that the program has from operator new, which it replaces.
#pragma once
#include <atomic>
#include <cstdint>

#include "libsten/base/memory_pool.h"

namespace sten::testing {

// Now, and the most since somebody set it; how often it was called.
extern std::atomic<std::int64_t> in_use, peak, calls;

// Bytes at the peak of f, besides those in use before.
template <class F>
std::int64_t bytes_of(F&& f) {
  empty_memory_pool();  // what is taken from there is not seen
  const std::int64_t before = in_use;
  peak = before;
  f();
  return peak - before;
}

}  // namespace sten::testing
