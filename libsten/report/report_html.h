// SPDX-License-Identifier: Apache-2.0
// Reports as self-contained HTML pages.
#pragma once
#include <string>

#include "libsten/report/report_data.h"

namespace sten {

// A page with the key figures, charts, the table, notes and facts, for light and dark mode, phones,
// paper, keyboards and screen readers; with scripts, the table can be sorted. It stays below 2 MB:
// long tables and lists are cut, and say so. Text may come from a hostile file: it is escaped, and
// the page's policy forbids loading anything.
std::string to_html(const Report& r);

}  // namespace sten
