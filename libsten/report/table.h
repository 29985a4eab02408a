// A report's rows as people see them.
#pragma once
#include <string>
#include <vector>

#include "libsten/report/report.h"

namespace sten {

struct Table {
  std::vector<Column> columns;                  // those that have a cell
  std::vector<std::vector<std::string>> lines;  // titles, rows, and the total, if any
  bool has_total = false;
};
Table table_of(const Report& r);

// Takes out columns that the report can spare, in its order, while the names (the first column)
// would have less than half of `width`; then cuts texts, the longest first, to no less than 8
// characters: names by short_names(), others in their middle. Returns the titles of the columns that went. Numbers stay whole: where
// they alone are wider, so is the table.
std::vector<std::string> fit_to(Table& table, const std::vector<std::string>& optional_columns,
                                std::size_t width);

}  // namespace sten
