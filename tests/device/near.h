// SPDX-License-Identifier: Apache-2.0
// Comparison of results on a device with those on the CPU.
#pragma once
#include <algorithm>
#include <cmath>

#include "libsten/core/tensor/tensor.h"
#include "tests/support/parts.h"

namespace sten::testing {

// Whether values differ by at most 1e-6 of the largest magnitude, with the same layout and
// positions.
inline bool is_near(const Tensor& on_device, const Tensor& here) {
  if (on_device.device() != Device::cuda || on_device.spec() != here.spec() ||
      on_device.shape() != here.shape())
    return false;
  const Tensor back = on_device.to(Device::cpu);
  const Stored a = here.save(), b = back.save();
  for (std::size_t i = 0; i < a.parts.size(); ++i)
    if (a.parts[i].name != "values" &&
        numbers<std::uint8_t>(a.parts[i]) != numbers<std::uint8_t>(b.parts[i]))
      return false;
  const auto p = here.values()->as<float>(), q = back.values()->as<float>();
  float most = 0, off = 0;
  if (p.size() != q.size()) return false;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] == q[i] || (std::isnan(p[i]) && std::isnan(q[i]))) {
      if (std::isfinite(p[i])) most = std::max(most, std::abs(p[i]));
      continue;
    }
    if (!std::isfinite(p[i] - q[i])) return false;
    most = std::max(most, std::abs(p[i]));
    off = std::max(off, std::abs(p[i] - q[i]));
  }
  return off <= 1e-6f * most;
}

}  // namespace sten::testing
