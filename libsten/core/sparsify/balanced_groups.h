// SPDX-License-Identifier: Apache-2.0
// Balanced groups: assigns rows to groups of equal size so that the sum of their values is large.
#pragma once
#include <vector>

#include "libsten/core/base/shape.h"

namespace sten {

// Returns the group of each row: v rows per group, the remainder in the last group. values: [rows,
// groups]; row i has value values[i, k] in group k. The sum is within rows * `step` of the maximum,
// unless the auction is stopped at about a hundred bids per row. Source: the auction with similar
// objects of Bertsekas and Castanon, "The auction algorithm for the transportation problem" (1989).
std::vector<Index> balanced_groups(const std::vector<float>& values, Index rows, Index groups,
                                   Index v, float step);

}  // namespace sten
