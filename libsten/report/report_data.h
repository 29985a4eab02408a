// SPDX-License-Identifier: Apache-2.0
// The result of a program: a table with a total, facts and notes.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "libsten/core/base/shape.h"
#include "libsten/report/chart.h"

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
  seconds,   // "1.23 ms"
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

enum class Better { neither, lower, higher };

// A value that the program was run for, such as the loss, which a page shows first. Keys are paths
// in the JSON document: "validation/loss", "total/sparsity", "results/0/ratio". Without a value at
// `key`, or at `before`, the figure, or its change, is omitted.
struct KeyFigure {
  std::string title;
  Unit unit;
  std::string key;
  std::string before = {};  // the value to compare with, such as that of the input
  Better better = Better::neither;
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
  std::vector<KeyFigure> figures = {};
  // Charts besides those of the table (report_charts.h); the first one is the main chart.
  std::vector<AnyChart> charts = {};

  Cell& at(std::vector<Cell>& row, std::string_view key) const;
  // Adds a note, unless it is empty.
  void add_note(std::string text) {
    if (!text.empty()) notes.push_back(std::move(text));
  }
};

// "1,254,400"
std::string grouped(Index n);

// Three significant digits, or all before the point.
std::string three_digits(double v);

// The value at a path in the JSON document; no value if there is none.
Cell value_at(const Report& r, std::string_view path);

// The cell's number; NaN if it has none.
double number_of(const Cell& cell);

// The text of a cell for people, printable.
std::string shown_cell(const Cell& cell, Unit unit);

// The exact text of a cell: the shortest that reads back to the same number.
std::string exact_cell(const Cell& cell);

// The columns for people with a cell in any row or the total.
std::vector<std::size_t> filled_columns(const Report& r);

// The notes, and the legends of columns with cells.
std::vector<std::string> notes_of(const Report& r);

}  // namespace sten
