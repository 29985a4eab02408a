// SPDX-License-Identifier: Apache-2.0
// Parts of HTML pages of reports.
#pragma once
#include <string>

#include "libsten/report/report_data.h"

namespace sten {

extern const char* const page_style;   // CSS
extern const char* const page_script;  // JavaScript that sorts tables

// Printable text for HTML, cut in the middle if longer than some hundred characters.
std::string page_text(std::string_view text);

// The text of a cell for a page: as shown_cell(), with commas between thousands.
std::string page_value(const Cell& cell, Unit unit);

// A list of the key figures with their changes; empty without figures.
std::string key_figures_html(const Report& r);

// The table with its heading; empty without columns. Long tables have the largest rows, and say how
// many are left out.
std::string table_html(const Report& r);

}  // namespace sten
