// What implementations of embedding and of gather share.
#pragma once
#include <string_view>
#include <vector>

#include "libsten/ops/check.h"

namespace sten {

// Rows that ids name: those of a table, or for each index of the axes before gather's axis what lies
// at an index of that one. What both operators and their gradients get, checked, but for the ids'
// elements.
struct RowsCall {
  const Dense &table, &ids;
  Index axis = 0, extent = 0, outer = 1;
  Index n = 1;  // elements of a row
  Shape shape;  // of the output

  RowsCall(const char* op, bool is_gather, const Call& call, std::size_t first);
};

// The rows at the axis of a table of that shape; those of gather count from the end where they are
// negative. Error (usage) for a number that names none: "embedding: ids[1, 2] is 77, but the table is
// [50, 8]".
std::vector<Index> named_rows(std::string_view op, bool is_gather, const Shape& table, Index axis,
                              const Dense& ids);

}  // namespace sten
