// Tensors that are walked along axes with steps of their own.
#pragma once
#include "kernels/block/map_functions.h"

namespace sten::kernels {

// Quotients of numbers below 2^31 by one in [1, 2^31), without a division (Granlund and Montgomery
// 1994).
struct Divisor {
  std::uint32_t by = 1, factor = 1, shift = 0;

  Divisor() = default;
  explicit Divisor(std::int64_t d) : by(static_cast<std::uint32_t>(d)) {
    while ((std::uint64_t{1} << shift) < by) ++shift;
    const std::uint64_t beyond = (std::uint64_t{1} << shift) - by;
    factor = static_cast<std::uint32_t>((beyond << 32) / by + 1);
  }
  STEN_DEVICE std::uint32_t quotient(std::uint32_t n) const {
    const auto high = static_cast<std::uint32_t>(std::uint64_t{n} * factor >> 32);
    return (high + n) >> shift;
  }
};

}  // namespace sten::kernels
