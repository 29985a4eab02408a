// SPDX-License-Identifier: Apache-2.0
// Detection of n:m and n:m:g patterns in a tensor.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "libsten/core/tensor/dense.h"
#include "libsten/core/tensor/matrix_view.h"
#include "libsten/core/tensor/positions.h"

namespace sten {

// n:m; with g > 0 n:m:g.
struct Pattern {
  Index n, m, g, axis;
  std::string str() const;  // "2:4", "1:10:4 axis=0", without default axes (n:m: 1, n:m:g: 0)
  Spec layout() const;
};

// Returns those of 1:2 2:4 1:4 2:8 4:8 1:8 1:10 1:20 that hold, on both axes; and for the strictest
// of them, n:m:g with g of 1, 4 and 16 that hold, fill a chunk and use nine of ten slots. Returns
// none for tensors that are all zero, of rank below 2, or with lines shorter than m. Stops at the
// first block that violates the last candidate. Time and memory for a list are proportional to its
// length.
std::vector<Pattern> held_patterns(const Positions& nonzero);
// As above for the nonzero elements; -0.0 is zero.
std::vector<Pattern> held_patterns(const Dense& x);
// The patterns that no other one implies: 2:4 implies 4:8, and 1:4 implies 1:8.
std::string strictest(const std::vector<Pattern>& held);

// Whether the layout's size depends on patterns of the tensor instead of the layout's example: nm
// and nmg, which held_patterns() finds, and nmgv.
bool is_pattern(std::string_view layout);

// Describes how a tensor of rank 2 or more violates a structure; none if the structure holds, or
// the tensor is empty. Error for a list of positions that is too large to pack into a structure
// other than nm, nmg and nmgv.
std::optional<std::string> breach(const Positions& nonzero, const Spec& pattern);
std::optional<std::string> breach(const Dense& x, const Spec& pattern);

}  // namespace sten
