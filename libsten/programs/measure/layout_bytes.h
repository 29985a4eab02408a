// SPDX-License-Identifier: Apache-2.0
// The bytes of a tensor in each layout, computed without converting.
#pragma once
#include <optional>
#include <vector>

#include "libsten/core/registry/registry.h"
#include "libsten/core/tensor/occupancy.h"
#include "libsten/programs/measure/patterns.h"

namespace sten {

// In the order of Registry::layouts(); none for a layout that cannot hold the tensor.
using LayoutBytes = std::vector<std::optional<Index>>;

// Bytes of all parts, with the parameters of the layout's example (bcsr: blocks of 4x4). nm and nmg
// use the parameters of the smallest of `held`, the tensor's patterns (patterns.h).
LayoutBytes layout_bytes(const Occupancy& of, const std::vector<Pattern>& held);

struct SizedLayout {
  Spec layout;
  Index bytes;
};
// The smallest of these layouts; `own`, the tensor's layout, if none is smaller.
Spec smallest_layout(const SizedLayout& own, const Occupancy& of, const std::vector<Pattern>& held);

// A layout's name with those parameters in reports: "bcsr 4x4", "nm".
std::string sized_as(const Registry::Example& layout);

}  // namespace sten
