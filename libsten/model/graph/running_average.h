// SPDX-License-Identifier: Apache-2.0
// The running average of batch norms.
#pragma once
#include <cassert>
#include <span>

namespace sten {

// Sets each element of `average` to (1 - momentum) times itself plus momentum times that of `to`.
inline void move_average(std::span<float> average, std::span<const float> to, double momentum) {
  assert(average.size() == to.size());
  for (std::size_t i = 0; i < average.size(); ++i)
    average[i] = static_cast<float>((1 - momentum) * double{average[i]} + momentum * double{to[i]});
}

}  // namespace sten
