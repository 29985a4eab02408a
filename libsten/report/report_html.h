// SPDX-License-Identifier: Apache-2.0
// Reports as self-contained HTML pages.
#pragma once
#include <string>

#include "libsten/report/report_data.h"

namespace sten {

// A page with facts, totals, notes, charts of the largest rows, and a table of all rows, for light
// and dark mode, narrow screens and paper; with scripts, the table can be sorted. Text may come
// from a hostile file: it is escaped, and the page's policy forbids loading anything.
std::string to_html(const Report& r);

}  // namespace sten
