// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/bench/cold_caches.h"

#include <unistd.h>

#include <algorithm>

namespace sten {
namespace {

// The size of a cache; a common size if the system does not tell.
std::size_t cache_bytes(int which, std::size_t usual) {
  const long bytes = sysconf(which);
  return bytes > 0 ? static_cast<std::size_t>(bytes) : usual;
}

constexpr std::size_t most_swept = std::size_t{256} << 20;

}  // namespace

bool ColdCaches::are_asked(const Shape& shape) {
  constexpr Index max_small_batch = 32;
  const auto weight = static_cast<std::size_t>(shape[0] * shape[1]) * sizeof(float);
  return shape[2] <= max_small_batch &&
         weight > cache_bytes(_SC_LEVEL2_CACHE_SIZE, std::size_t{1} << 20);
}

ColdCaches::ColdCaches()
    : memory_(std::min(most_swept, 2 * cache_bytes(_SC_LEVEL3_CACHE_SIZE, std::size_t{32} << 20)) /
                  sizeof(std::uint64_t),
              1) {}

void ColdCaches::sweep() const {
  constexpr std::size_t line = 8;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < memory_.size(); i += line) sum += memory_[i];
  volatile std::uint64_t sink = sum;
  (void)sink;
}

}  // namespace sten
