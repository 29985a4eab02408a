// SPDX-License-Identifier: Apache-2.0
// Attributes of resize, for all its implementations.
#pragma once
#include <string_view>
#include <vector>

#include "libsten/core/dispatch/attributes.h"

namespace sten {

// The attribute `scales` of a resize: a number for all axes, or a comma-separated string of one per
// axis. Empty if missing.
std::vector<double> resize_scales(std::string_view op, const Attributes& a, std::size_t axes);

}  // namespace sten
