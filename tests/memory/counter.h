// SPDX-License-Identifier: Apache-2.0
// Counts bytes from operator new, which it replaces.
#pragma once
#include <atomic>
#include <cstdint>

#include "libsten/core/base/memory_pool.h"

namespace sten::testing {

// Current bytes, maximum since it was last set, and number of calls.
extern std::atomic<std::int64_t> in_use, peak, calls;

// The maximum of bytes during f, in addition to those in use before.
template <class F>
std::int64_t bytes_of(F&& f) {
  empty_memory_pool();  // allocations from the pool are not counted
  const std::int64_t before = in_use;
  peak = before;
  f();
  return peak - before;
}

}  // namespace sten::testing
