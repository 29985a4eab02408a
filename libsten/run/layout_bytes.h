// What a tensor takes in each layout, without making it.
#pragma once
#include <optional>
#include <vector>

#include "libsten/dispatch/registry.h"
#include "libsten/run/patterns.h"
#include "libsten/tensor/occupancy.h"

namespace sten {

// By layout, in the order of Registry::layouts(); none where it cannot hold the tensor.
using LayoutBytes = std::vector<std::optional<Index>>;

// Bytes of all parts, with the numbers of the layout's example (bcsr: blocks of 4x4); of nm and nmg
// with those of the pattern that takes least of `held`, the tensor's patterns (patterns.h).
LayoutBytes layout_bytes(const Occupancy& of, const std::vector<Pattern>& held);

struct SizedLayout {
  Spec layout;
  Index bytes;
};
// The one of these layouts that takes least; `own`, the layout it has, where none takes less.
Spec smallest_layout(const SizedLayout& own, const Occupancy& of, const std::vector<Pattern>& held);

// How a report names the layout with those numbers: "bcsr 4x4", "nm".
std::string sized_as(const Registry::Example& layout);

}  // namespace sten
