// What a program found out: a table with a total, said as text, JSON, CSV, Markdown or HTML.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "libsten/base/shape.h"
#include "libsten/io/atomic_file.h"

namespace sten {

// How a column's numbers look to people; JSON and CSV have them in full.
enum class Unit {
  text,
  shape,
  count,
  bytes,
  fraction,  // "90.00 %"
  ratio,     // "0.2363"
  measured,  // "12.3": three digits, or all before the point; "1.23e-07"
};

// A fraction: 0 where the whole is nothing.
inline double share(Index part, Index whole) {
  return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

using Cell = std::variant<std::monostate, std::string, Shape, Index, double>;

struct Column {
  std::string key;    // in JSON and CSV
  std::string title;  // in text and Markdown
  Unit unit;
  bool detail = false;  // in JSON and CSV alone
};

struct Report {
  std::string program;
  std::string item = "tensors";  // what the rows are called in JSON
  std::vector<Column> columns;   // a column without any cell is left out but for JSON and CSV
  // Keys of those that a narrow terminal does without, the first to go first.
  std::vector<std::string> optional_columns;
  std::vector<std::vector<Cell>> rows;
  bool whole_rows = false;  // JSON says null where a row has no cell, rather than nothing
  std::vector<Cell> total;  // empty: no total
  // What is known of each row, whose own rows JSON has under their `item`; empty: nothing more.
  std::vector<Report> parts = {};
  // Facts about the whole run; JSON and HTML only, in this order. "a/b" is the key b of an object
  // a.
  std::vector<std::pair<std::string, Cell>> facts;
  std::string options;  // that decide the numbers, as for a shell; HTML only
  // Sentences for people: what to know about the result.
  std::vector<std::string> notes;
  std::vector<std::pair<std::string, std::string>> legends = {};  // of columns, by key: more notes
  std::string failure;  // why a check did not hold; empty: all did
  std::string chart;    // an SVG document; empty: none

  Cell& at(std::vector<Cell>& row, std::string_view key) const;
};

// As people read it, printable.
std::string shown_cell(const Cell& cell, Unit unit);
// In full: the shortest text that reads back to the same number.
std::string exact_cell(const Cell& cell);
// The columns for people that have a cell in any row or the total.
std::vector<std::size_t> filled_columns(const Report& r);

// Its notes, and the legends of columns that have a cell.
std::vector<std::string> notes_of(const Report& r);

// A table, then the notes. `terminal`: how many columns of characters it is to fit, as far as it
// can (table.h); 0: any number. It says which columns were left out.
std::string to_text(const Report& r, std::size_t terminal = 0);
// One document with "schema": 1 and "ok": true, or false and a "reason", ending in a newline. Names
// are not escaped for terminals.
std::string to_json(const Report& r);
// Texts that a spreadsheet would take for formulas begin with an apostrophe; nothing else is
// changed.
std::string to_csv(const Report& r);
// Names and notes are text in it, whatever is in them.
std::string to_markdown(const Report& r);

// Error (usage) unless the path ends in .json, .csv, .md or .html, or in .svg for a report with a
// chart.
void check_report_path(const std::string& path, bool has_chart);
// In the form that the path's ending says.
void write_report(const Report& r, const std::string& path, OutputFile& out);

}  // namespace sten
