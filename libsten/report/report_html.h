// A report as one HTML page that needs nothing from elsewhere.
#pragma once
#include <string>

#include "libsten/report/report.h"

namespace sten {

// Facts, totals, notes, charts of the largest rows, and all rows as a table. Readable in light and
// in dark, on narrow screens and on paper; with scripts the table can be sorted. Any text may come
// from a hostile file: all of it is escaped, and the page's policy lets it load nothing.
std::string to_html(const Report& r);

}  // namespace sten
