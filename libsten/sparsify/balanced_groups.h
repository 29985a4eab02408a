// Rows to groups of the same size, so that what each is worth in its group adds up to much.
#pragma once
#include <vector>

#include "libsten/base/shape.h"

namespace sten {

// The group of each row: v rows in each group, what is left in the last. values: [rows, groups], row
// i is worth values[i, k] in group k. The sum is within rows * `step` of the largest there is, as long
// as that takes no more than about a hundred turns per row. By an auction where the places of a group
// are alike: Bertsekas and Castanon, "The auction algorithm for the transportation problem" (1989).
std::vector<Index> balanced_groups(const std::vector<float>& values, Index rows, Index groups,
                                   Index v, float step);

}  // namespace sten
