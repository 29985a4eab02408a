// SPDX-License-Identifier: Apache-2.0
// Charts of a report.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "libsten/report/report_data.h"

namespace sten {

// The indices of the `count` rows with the most bytes, in the table's order; the first ones of a
// table without bytes.
std::vector<std::size_t> largest_rows(const Report& r, std::size_t count);

// Bars of a column of numbers, of the rows with its largest values.
BarChart largest_values_chart(const Report& r, std::string_view key, const std::string& title);

// The report's own charts, then those of its table: bars of sparsity and energy, and of bytes, of
// the largest rows, and, of many rows, a histogram of sparsity and energy. A table without a total
// is a list of measurements, which has no charts of its own.
std::vector<AnyChart> charts_of(const Report& r);

// The first chart; without one, a chart without data.
AnyChart main_chart(const Report& r);

}  // namespace sten
