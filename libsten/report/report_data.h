// SPDX-License-Identifier: Apache-2.0
// The result of a program: a table with a total, facts and notes.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "libsten/core/base/shape.h"

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
  // Adds a note, unless it is empty.
  void add_note(std::string text) {
    if (!text.empty()) notes.push_back(std::move(text));
  }
};

// The text of a cell for people, printable.
std::string shown_cell(const Cell& cell, Unit unit);

// The exact text of a cell: the shortest that reads back to the same number.
std::string exact_cell(const Cell& cell);

// The columns for people with a cell in any row or the total.
std::vector<std::size_t> filled_columns(const Report& r);

// The notes, and the legends of columns with cells.
std::vector<std::string> notes_of(const Report& r);

}  // namespace sten
