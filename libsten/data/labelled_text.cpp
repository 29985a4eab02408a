// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/labelled_text.h"

#include <algorithm>
#include <functional>

#include "libsten/core/base/json.h"
#include "libsten/core/base/text.h"
#include "libsten/data/json_lines.h"
#include "libsten/files/system/data_file.h"

namespace sten {
namespace {

using Json = nlohmann::ordered_json;

// The value of a column in a row.
using Field = std::function<Json(const std::string& column)>;
using TakeRow = std::function<void(Index line, const Field& field)>;

// Removes rows from a text.
class CsvRows {
 public:
  CsvRows(std::string_view text, char separator, std::string name)
      : text_(text), separator_(separator), name_(std::move(name)) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
  }
  // False at the end. Skips empty lines.
  bool next(std::vector<std::string>& row) {
    while (!text_.empty()) {
      line_ = next_line_;
      row.clear();
      while (take_field(row.emplace_back())) continue;
      if (row.size() > 1 || !row.front().empty()) return true;
    }
    return false;
  }
  Index line() const { return line_; }  // first line of the row

 private:
  // Removes a field. Returns whether the row has another one.
  bool take_field(std::string& field) {
    if (text_.starts_with('"')) take_quoted(field);
    const std::size_t end =
        std::min(text_.find_first_of(separator_ == ',' ? ",\n" : "\t\n"), text_.size());
    field += text_.substr(0, end);
    const bool more = end < text_.size() && text_[end] == separator_;
    if (!more) {
      ++next_line_;
      if (field.ends_with('\r')) field.pop_back();
    }
    text_.remove_prefix(std::min(end + 1, text_.size()));
    if (more && text_.empty()) text_ = "\n";  // an empty field at the end of the file
    return more;
  }
  void take_quoted(std::string& field) {
    text_.remove_prefix(1);
    for (;;) {
      const std::size_t end = text_.find('"');
      if (end == text_.npos) fail("{}: line {}: unterminated quote", name_, line_);
      next_line_ += std::ranges::count(text_.substr(0, end), '\n');
      field += text_.substr(0, end);
      text_.remove_prefix(end + 1);
      if (!text_.starts_with('"')) return;
      field += '"';
      text_.remove_prefix(1);
    }
  }

  std::string_view text_;
  char separator_;
  std::string name_;
  Index line_ = 1, next_line_ = 1;
};

[[noreturn]] void fail_column(const std::string& name, const std::string& column,
                              const std::vector<std::string>& all) {
  std::string listed;
  for (const std::string& c : all) listed += (listed.empty() ? "" : ", ") + printable(c);
  fail_usage("{}: unknown column {} (expected one of {})", name, quote(column), listed);
}

void each_csv_row(std::string_view text, char separator, const std::string& name,
                  const TakeRow& take) {
  CsvRows rows(text, separator, name);
  std::vector<std::string> columns, row;
  if (!rows.next(columns)) fail("{}: no rows found", name);
  while (rows.next(row)) {
    if (row.size() != columns.size())
      fail("{}: line {} has {} fields, expected {} as in the header", name, rows.line(), row.size(),
           columns.size());
    take(rows.line(), [&](const std::string& column) -> Json {
      const auto at = std::ranges::find(columns, column);
      if (at == columns.end()) fail_column(name, column, columns);
      return row[static_cast<std::size_t>(at - columns.begin())];
    });
  }
}

void each_json_row(std::string_view text, const std::string& name, const TakeRow& take) {
  each_json_line(text, name, [&](Index line, const Json& row) {
    const std::string here = fmt::format("{}: line {}", name, line);
    if (!row.is_object()) fail("{}: expected a JSON object", here);
    take(line, [&](const std::string& column) -> Json {
      const auto at = row.find(column);
      if (at != row.end()) return *at;
      std::vector<std::string> all;
      for (const auto& [key, value] : row.items()) all.push_back(key);
      fail_column(here, column, all);
    });
  });
}

void each_row(const std::string& path, const TakeRow& take) {
  const MappedFile file = open_data(path);
  const std::string_view text = text_of(file.bytes());
  const std::string name = printable(path);
  if (path.ends_with(".csv") || path.ends_with(".tsv"))
    each_csv_row(text, path.ends_with(".csv") ? ',' : '\t', name, take);
  else if (path.ends_with(".jsonl") || path.ends_with(".json"))
    each_json_row(text, name, take);
  else
    fail_usage("{}: expected a name that ends in .csv, .tsv, .jsonl or .json", name);
}

// The text of a label, or of a column that must be text.
std::string text_in(const Json& v, const std::string& column, const std::string& here,
                    bool is_label = false) {
  if (v.is_string()) return v.get<std::string>();
  if (is_label && v.is_boolean()) return v.get<bool>() ? "true" : "false";
  if (is_label && v.is_number_integer()) return v.dump();
  fail("{}: {} must be a string{}", here, quote(column),
       is_label ? ", an integer or a boolean" : "");
}

std::vector<std::string> texts_in(const Json& v, const std::string& column, const std::string& here,
                                  bool are_labels = false) {
  std::vector<std::string> all;
  if (v.is_array()) {
    for (const Json& one : v) all.push_back(text_in(one, column, here, are_labels));
    return all;
  }
  const std::string text = text_in(v, column, here);
  constexpr const char* blanks = " \t\r\n";
  for (std::size_t at = text.find_first_not_of(blanks); at != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    all.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(blanks, end);
  }
  return all;
}

template <class Row>
std::vector<Row> rows_in(const std::string& path,
                         const std::function<void(Row&, const Field&, const std::string&)>& fill) {
  std::vector<Row> rows;
  each_row(path, [&](Index line, const Field& field) {
    Row& row = rows.emplace_back();
    row.line = line;
    fill(row, field, fmt::format("{}: line {}", printable(path), line));
  });
  if (rows.empty()) fail("{}: no rows found", printable(path));
  return rows;
}

void check_label(const std::string& label, const std::string& here) {
  if (label.empty()) fail("{}: empty label", here);
}

}  // namespace

std::vector<LabelledText> read_labelled_text(const std::string& path, const TextColumns& c) {
  return rows_in<LabelledText>(
      path, [&](LabelledText& row, const Field& field, const std::string& here) {
        row.text = text_in(field(c.text), c.text, here);
        if (!c.pair.empty()) row.pair = text_in(field(c.pair), c.pair, here);
        row.label = c.label.empty() ? "0" : text_in(field(c.label), c.label, here, true);
        check_label(row.label, here);
      });
}

std::vector<LabelledWords> read_labelled_words(const std::string& path, const TextColumns& c) {
  return rows_in<LabelledWords>(
      path, [&](LabelledWords& row, const Field& field, const std::string& here) {
        row.words = texts_in(field(c.text), c.text, here);
        if (c.label.empty())
          row.labels.assign(row.words.size(), "0");
        else
          row.labels = texts_in(field(c.label), c.label, here, true);
        if (row.words.size() != row.labels.size())
          fail("{}: {} words do not fit {} labels", here, row.words.size(), row.labels.size());
        if (row.words.empty()) fail("{}: no words found", here);
        for (const std::string& label : row.labels) check_label(label, here);
      });
}

}  // namespace sten
