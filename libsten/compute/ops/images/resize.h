// SPDX-License-Identifier: Apache-2.0
// Attributes of resize, for all its implementations.
#pragma once
#include <cmath>
#include <string_view>
#include <vector>

#include "libsten/core/dispatch/attributes.h"

namespace sten {

// The attribute `scales` of a resize: a number for all axes, or a comma-separated string of one per
// axis. Empty if missing.
std::vector<double> resize_scales(std::string_view op, const Attributes& a, std::size_t axes);

// The extent n times a scale, rounded down, in float32 as ONNX Runtime and PyTorch: 10 * 0.7F is 7,
// but 10 * double{0.7F} is less.
inline double scaled_extent(Index n, double scale) {
  return std::floor(static_cast<float>(n) * static_cast<float>(scale));
}

}  // namespace sten
