// SPDX-License-Identifier: Apache-2.0
// Checked calls of embedding and gather, for all implementations.
#pragma once
#include <string_view>
#include <vector>

#include "libsten/compute/ops/common/check.h"

namespace sten {

// Operands and attributes of both operators, or with first = 1 of their gradients, whose input 0 is
// the gradient of the output; without a check of the ids' values. Ids select rows of a table; or, for each index of the axes before gather's axis, rows
// along that axis.
struct RowsCall {
  const Dense &table, &ids;
  Index axis = 0, extent = 0, outer = 1;
  Index n = 1;  // elements per row
  Shape shape;  // of the output

  RowsCall(const char* op, bool is_gather, const Call& call, std::size_t first);
};

// The rows at the axis of a table of that shape; negative ids of gather count from the end. Error
// (usage) for an id out of range: "embedding: ids[1, 2] is 77, but the table is [50, 8]".
std::vector<Index> named_rows(std::string_view op, bool is_gather, const Shape& table, Index axis,
                              const Dense& ids);

}  // namespace sten
