// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/table.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "libsten/core/base/utf8.h"
#include "libsten/report/short_names.h"

using namespace sten;

namespace {

Report wide(const std::vector<std::string>& names) {
  Report r;
  r.columns = {{"name", "tensor", Unit::text},
               {"shape", "shape", Unit::shape},
               {"dtype", "dtype", Unit::text},
               {"kept", "kept", Unit::count},
               {"sparsity", "sparsity", Unit::fraction}};
  r.optional_columns = {"dtype", "padding", "kept", "shape"};
  for (const std::string& name : names) {
    std::vector<Cell>& row = r.rows.emplace_back();
    r.at(row, "name") = name;
    r.at(row, "shape") = Shape{3072, 768};
    r.at(row, "dtype") = std::string("F32");
    r.at(row, "kept") = Index{235930};
    r.at(row, "sparsity") = 0.9;
  }
  r.at(r.total, "name") = std::string("total");
  r.at(r.total, "sparsity") = 0.9;
  r.notes = {"a note that is longer than the table and stays as it is, on a line of its own"};
  return r;
}

std::vector<std::string> rows_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::size_t characters(const std::string& s) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < s.size(); ++n) CHECK(next_code_point(s, i) >= 0);
  return n;
}

// Width of the table's lines, without notes.
std::size_t width_of(const std::string& text, std::size_t notes) {
  std::vector<std::string> lines = rows_of(text);
  std::size_t most = 0;
  for (std::size_t i = 0; i + notes < lines.size(); ++i)
    most = std::max(most, characters(lines[i]));
  return most;
}

const std::string long_name = "bert.encoder.layer.10.attention.output.dense.weight";  // 51

}  // namespace

TEST_CASE("a table without a width limit is printed at its full width") {
  const Report r = wide({long_name, "a.weight"});
  CHECK(to_text(r) == to_text(r, 0));
  CHECK(to_text(r) == to_text(r, 1000));
  CHECK(to_text(r).find(long_name + "  3072x768  F32    235930   90.00 %\n") != std::string::npos);
}

TEST_CASE("a narrow terminal shortens names and leaves out optional columns in order") {
  const Report r = wide({long_name, "a.weight"});
  const std::string all = to_text(r);
  const std::size_t full = width_of(all, 1);
  REQUIRE(full == 51 + 2 + 8 + 2 + 5 + 2 + 6 + 2 + 8);
  CHECK(to_text(r, full) == all);

  // The names fit when they are shortened to half of the width: no column is left out.
  const std::string cut = to_text(r, 80);
  CHECK(width_of(cut, 1) == 80);
  CHECK(cut.find("left out") == std::string::npos);
  CHECK(cut.find("bert.encoder.layer.10.attention.output.dense…") != std::string::npos);

  const std::string narrow = to_text(r, 60);
  CHECK(width_of(narrow, 2) == 60);
  CHECK(narrow.find("columns left out at this width: dtype\n") != std::string::npos);
  CHECK(narrow.find("dtype  ") == std::string::npos);
  CHECK(narrow.find("F32") == std::string::npos);
  CHECK(narrow.find("\na.weight ") != std::string::npos);
  CHECK(narrow.find("\n" + r.notes[0] + "\n") != std::string::npos);

  const std::string few = to_text(r, 30);
  CHECK(width_of(few, 2) == 30);
  CHECK(few.find("columns left out at this width: dtype, kept, shape\n") != std::string::npos);
  CHECK(few.find("90.00 %") != std::string::npos);
}

TEST_CASE("numbers are not truncated at any table width") {
  const std::string text = to_text(wide({long_name}), 1);
  CHECK(width_of(text, 2) == 8 + 2 + 8);
  CHECK(text.find("ber…ight   90.00 %\n") != std::string::npos);
  CHECK(to_text(Report{}, 5).empty());
}

TEST_CASE("names are shortened at UTF-8 character boundaries") {
  std::string name;
  for (int i = 0; i < 60; ++i) name += "é";
  const std::string text = to_text(wide({name}), 40);
  CHECK(width_of(text, 2) == 40);
  CHECK(is_utf8(text));
}

TEST_CASE("short_names keeps shortened names distinct") {
  std::vector<std::string> names;
  for (const char* layer : {"0", "1", "10"})
    for (const char* part : {"attention.self.key", "attention.self.query", "output.dense"})
      names.push_back(std::string("bert.encoder.layer.") + layer + "." + part + ".weight");
  CHECK(short_names(names, 60) == names);
  // A common prefix is removed first.
  CHECK(short_names(names, 31)[0] == "…0.attention.self.key.weight");
  CHECK(short_names(names, 26)[0] == "…0.attention.self.key…");
  for (const std::size_t width : {26, 20, 16, 14}) {
    std::vector<std::string> out = short_names(names, width);
    for (const std::string& s : out) CHECK(columns_of(s) <= width);
    std::ranges::sort(out);
    CHECK(std::ranges::adjacent_find(out) == out.end());
  }
  CHECK(short_names({"a.very.long.name"}, 9) == std::vector<std::string>{"a.ve…name"});
  CHECK(short_names({"same.name", "same.name"}, 5)[1] == "sa…me");
  CHECK(short_names({}, 5).empty());
}
