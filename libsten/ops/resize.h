#pragma once
#include <string_view>
#include <vector>

#include "libsten/dispatch/attributes.h"

namespace sten {

// The attribute `scales` of a resize: one number for all axes, or a word of as many as there are, with
// commas between them. None where it is not there.
std::vector<double> resize_scales(std::string_view op, const Attributes& a, std::size_t axes);

}  // namespace sten
