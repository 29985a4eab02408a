// SPDX-License-Identifier: Apache-2.0
// Reports as JSON, CSV, Markdown, HTML and SVG files.
#pragma once
#include <string>

#include "libsten/files/system/atomic_file.h"
#include "libsten/report/report_charts.h"
#include "libsten/report/report_data.h"
#include "libsten/report/svg_chart.h"
#include "libsten/report/table.h"

namespace sten {

// A document with "schema": 1 and "ok": true, or false and a "reason", ending in a newline. Names
// are not escaped for terminals.
std::string to_json(const Report& r);
// CSV. Text that a spreadsheet would take for a formula starts with an apostrophe.
std::string to_csv(const Report& r);
// Markdown, in which names and notes are escaped.
std::string to_markdown(const Report& r);

// Error (usage) unless the path ends in .json, .csv, .md, .html or .svg.
void check_report_path(const std::string& path);
// Writes the format of the path's ending; .svg is the main chart.
void write_report(const Report& r, const std::string& path, OutputFile& out);

}  // namespace sten
