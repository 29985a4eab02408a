// Report: a table with a total, printed as text, JSON, CSV, Markdown or HTML.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "libsten/base/shape.h"
#include "libsten/io/atomic_file.h"

namespace sten {

// Formats of a column's numbers for people; JSON and CSV have exact values.
enum class Unit {
  text,
  shape,
  count,
  bytes,
  fraction,  // "90.00 %"
  ratio,     // "0.2363"
  measured,  // three significant digits, or all before the point: "12.3"; "1.23e-07"
};

// part / whole; 0 if the whole is 0.
inline double share(Index part, Index whole) {
  return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

using Cell = std::variant<std::monostate, std::string, Shape, Index, double>;

struct Column {
  std::string key;    // in JSON and CSV
  std::string title;  // in text and Markdown
  Unit unit;
  bool detail = false;  // only in JSON and CSV
};

struct Report {
  std::string program;
  std::string item = "tensors";  // key of the rows in JSON
  std::vector<Column> columns;   // a column without cells is only in JSON and CSV
  // Keys of columns that a narrow terminal leaves out, in this order.
  std::vector<std::string> optional_columns;
  std::vector<std::vector<Cell>> rows;
  bool whole_rows = false;  // JSON has null, instead of no key, for an empty cell
  std::vector<Cell> total;  // empty: no total
  // Details per row: reports whose rows JSON has under their `item`; empty: none.
  std::vector<Report> parts = {};
  // Facts about the run, in this order, in JSON and HTML only. "a/b" is the key b of an object a.
  std::vector<std::pair<std::string, Cell>> facts;
  std::string options;  // options that decide the numbers, as for a shell; HTML only
  // Notes for people.
  std::vector<std::string> notes;
  std::vector<std::pair<std::string, std::string>> legends = {};  // notes on columns, by key
  std::string failure;  // the reason of a failed check; empty: none failed
  std::string chart;    // an SVG document; empty: none

  Cell& at(std::vector<Cell>& row, std::string_view key) const;
};

// The text of a cell for people, printable.
std::string shown_cell(const Cell& cell, Unit unit);
// The exact text of a cell: the shortest that reads back to the same number.
std::string exact_cell(const Cell& cell);
// The columns for people with a cell in any row or the total.
std::vector<std::size_t> filled_columns(const Report& r);

// The notes, and the legends of columns with cells.
std::vector<std::string> notes_of(const Report& r);

// A table, then the notes. `terminal`: width in characters to fit the table to (table.h), 0:
// unlimited. Says which columns were left out.
std::string to_text(const Report& r, std::size_t terminal = 0);
// A document with "schema": 1 and "ok": true, or false and a "reason", ending in a newline. Names
// are not escaped for terminals.
std::string to_json(const Report& r);
// CSV. Text that a spreadsheet would take for a formula starts with an apostrophe.
std::string to_csv(const Report& r);
// Markdown, in which names and notes are escaped.
std::string to_markdown(const Report& r);

// Error (usage) unless the path ends in .json, .csv, .md or .html, or, for a report with a chart,
// .svg.
void check_report_path(const std::string& path, bool has_chart);
// Writes the format of the path's ending.
void write_report(const Report& r, const std::string& path, OutputFile& out);

}  // namespace sten
