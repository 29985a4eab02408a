// What a tensor takes in each layout, without making it.
#pragma once
#include <array>
#include <optional>
#include <vector>

#include "libsten/run/patterns.h"
#include "libsten/tensor/dense.h"

namespace sten {

// bcsr with blocks of 4x4; nm and nmg with the pattern that takes least of those that hold.
inline constexpr std::array layout_names = {"dense", "masked", "bitmask", "csr", "csc",
                                            "coo",   "ell",    "bcsr",    "nm",  "nmg"};
using LayoutBytes = std::array<std::optional<Index>, layout_names.size()>;

// Bytes of all parts, in the order of layout_names; none where the layout cannot hold the tensor,
// whose elements have `width` bytes. It has rank 2 or more and is seen with rows along dimension 0;
// `held` are its patterns (patterns.h). One pass over `kept`; memory O(columns), or that of a list.
LayoutBytes layout_bytes(Index width, const Positions& kept, const std::vector<Pattern>& held);

}  // namespace sten
