// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/memory_left.h"

#include <doctest/doctest.h>

#include <limits>
#include <new>

#include "libsten/core/base/memory.h"

using namespace sten;

TEST_CASE("allocating more memory than the machine has left throws bad_alloc") {
  const std::uint64_t left = memory_left();
  CHECK(left > 0);
  if (left == std::numeric_limits<std::uint64_t>::max()) return;  // the system does not say
  // Without the check the system could grant this memory, and kill the process when it is used.
  const std::size_t more = static_cast<std::size_t>(left) * 2 + (std::size_t{1} << 30);
  CHECK_THROWS_AS((void)allocate(more), std::bad_alloc);
}
