// SPDX-License-Identifier: Apache-2.0
// Report tables for people.
#pragma once
#include <string>
#include <vector>

#include "libsten/report/report_data.h"

namespace sten {

struct Table {
  std::vector<Column> columns;                  // columns with cells
  std::vector<std::vector<std::string>> lines;  // titles, rows, and the total, if any
  bool has_total = false;
};
Table table_of(const Report& r);

// Fits the table to `width`. First removes optional columns, in the report's order, while the names
// (the first column) would have less than half of `width`. Then cuts texts, the longest first, to 8
// characters or more: names by short_names(), others in the middle. Returns the titles of removed
// columns. Numbers are never cut, so the table may stay wider.
std::vector<std::string> fit_to(Table& table, const std::vector<std::string>& optional_columns,
                                std::size_t width);

// A table, then the notes. `terminal`: width in characters to fit the table to (table.h), 0:
// unlimited. Says which columns were left out.
std::string to_text(const Report& r, std::size_t terminal = 0);

}  // namespace sten
