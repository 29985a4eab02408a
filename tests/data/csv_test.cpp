// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/csv.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "libsten/core/base/error.h"
#include "tests/support/bad_input.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using namespace std::string_literals;
using Header = CsvOptions::Header;

namespace {

Examples csv(const std::string& text, const CsvOptions& options = {}) {
  return parse_csv(as_bytes(text), "in.csv", options);
}
std::vector<Index> classes(const Examples& e) {
  const auto y = e.labels.values.as<std::int64_t>();
  return {y.begin(), y.end()};
}
std::string csv_error(const std::string& text, const CsvOptions& options = {}) {
  return error_in("in.csv", [&] { csv(text, options); });
}

}  // namespace

TEST_CASE("the label is the last column by default, with or without a header") {
  for (const std::string text : {"a,b,label\n1,-2.5,0\n3e2,0,7\n", "1,-2.5,0\n3e2,0,7"}) {
    const Examples e = csv(text);
    CHECK(e.features.extents == Shape{2, 2});
    CHECK(floats(e.features) == std::vector<float>{1, -2.5, 300, 0});
    CHECK(e.labels.extents == Shape{2});
    CHECK(classes(e) == std::vector<Index>{0, 7});
    CHECK(e.classes() == 8);
  }
}

TEST_CASE("the label column can be chosen by name or by number") {
  const std::string text = "x,kind,y\n1,2,3\n4,5,6\n";
  for (const std::string label : {"kind", "2"}) {
    const Examples e = csv(text, {Header::guess, label});
    CHECK(floats(e.features) == std::vector<float>{1, 3, 4, 6});
    CHECK(classes(e) == std::vector<Index>{2, 5});
  }
  CHECK(csv_error(text, {Header::guess, "kin"}) == "unknown column 'kin', did you mean 'kind'?");
  CHECK(csv_error(text, {Header::guess, "4"}) == "unknown column '4'");
  CHECK(csv_error("1,2\n", {Header::guess, "0"}) ==
        "column '0' not found among 2 columns without a header");
  CHECK(csv_error("x,x,y\n1,2,3\n", {Header::guess, "x"}) ==
        "line 1: column name 'x' occurs twice");
}

TEST_CASE("a first line of numbers is a header only with Header::present") {
  const std::string text = "0,1,2\n7,8,9\n";
  CHECK(csv(text).count() == 2);
  CHECK(csv(text, {Header::present, ""}).count() == 1);
  CHECK(csv_error("a,1\n2,3\n", {Header::absent, ""}) ==
        "line 1, column 1: 'a' is not a finite float32 value");
}

TEST_CASE("a first line with a missing value is not a header") {
  for (const std::string word : {"nan", "NA", "-inf", "?", "null"})
    CHECK(csv_error("1," + word + ",3\n1,2,3\n") ==
          "line 1, column 2: '" + word + "' is not a finite float32 value");
}

TEST_CASE("CSV files written by Excel, R and numpy.savetxt are read") {
  const std::vector<float> expected{1, 2, 3, 4};
  for (const std::string& text : {
           "\xef\xbb\xbf"
           "a,b,c\r\n1,2,0\r\n3,4,1\r\n"s,                                   // Excel
           "\"a, b\",\"b\",\"c\"\n\"1\",\"2\",\"0\"\n\"3\",\"4\",\"1\"\n"s,  // R
           " a, b, c\n 1,\t2 , 0 \n+3.0, 4.000e+00,1.000e+00\n\n \n"s,       // numpy.savetxt
       }) {
    const Examples e = csv(text);
    CHECK(floats(e.features) == expected);
    CHECK(classes(e) == std::vector<Index>{0, 1});
  }
}

TEST_CASE("long integers are read as features and as labels") {
  CHECK(floats(csv("0,999999999,9999999999,007,12345678901234567890,1\n").features) ==
        std::vector<float>{0, 999999999.f, 9999999999.f, 7, 12345678901234567890.f});
  CHECK(classes(csv("1,999999999\n1,9999999999\n")) ==
        std::vector<Index>{999'999'999, 9'999'999'999});
}

TEST_CASE("ragged and non-numeric CSV rows are rejected with line and column") {
  const struct {
    std::string text, message;
  } cases[] = {
      {"a,b,c\n1,2,3\n1,2,3,4\n", "line 3 has 4 columns, expected 3 as in line 1"},
      {"1,2\n\n3,4\n", "line 2 is empty"},
      {"1,2\n3;4\n", "line 2 has 1 column, expected 2 as in line 1"},
      {"1,2\n3,\n", "line 2, column 2: '' is not a finite float32 value"},
      {"1,2\n,3\n", "line 2, column 1: '' is not a finite float32 value"},
      {"a,b\n1,2\nx3,4\n", "line 3, column 1: 'x3' is not a finite float32 value"},
      {"1,2\n0x10,4\n", "line 2, column 1: '0x10' is not a finite float32 value"},
      {"1,2\nnan,4\n", "line 2, column 1: 'nan' is not a finite float32 value"},
      {"1,2\n1e39,4\n", "line 2, column 1: '1e39' is not a finite float32 value"},
      {"1,2\n1e999,4\n", "line 2, column 1: '1e999' is not a finite float32 value"},
      {"1,2\n1 2,4\n", "line 2, column 1: '1 2' is not a finite float32 value"},
      {"1,2\n3,-1\n", "line 2, column 2: '-1' is not a class index (expected an integer >= 0)"},
      {"1,2\n3,1.5\n", "line 2, column 2: '1.5' is not a class index (expected an integer >= 0)"},
      {"1,2\n3,1e17\n", "line 2, column 2: '1e17' is not a class index (expected an integer >= 0)"},
      {"1\n2\n", "line 1 has one column: expected features and a label, separated by commas"},
      {" \n\n", "no rows found"},
      {"a,b\n", "no rows found after the header"},
      {"1,2\n\x1b[2J,4\n", "line 2, column 1: '\\x1b[2J' is not a finite float32 value"},
      {"<html><body>",
       "expected comma-separated values, got an HTML or XML page, such as a failed download "
       "leaves"},
  };
  for (const auto& c : cases) CHECK(csv_error(c.text) == c.message);
  CHECK(held(69, csv_error("1,2,3\n4,5\n") == "line 2 has 2 columns, expected 3 as in line 1"));
}

TEST_CASE("a multi-block CSV file gives the same rows and errors with 1 and 4 threads") {
  std::string text;
  std::vector<float> expected;
  for (int row = 0; row < 60'000; ++row) {
    text += fmt::format("{},{}.5,{}\n", row, row, row % 10);
    expected.push_back(static_cast<float>(row));
    expected.push_back(static_cast<float>(row) + 0.5f);
  }
  // The two bad lines are in different blocks, neither of them the first.
  std::string bad = text;
  bad.replace(bad.find("30000,"), 6, "3000x,");
  bad.replace(bad.find("55000,"), 6, "5500x,");
  for (const int n : {1, 4}) {
    const Threads scope(n);
    const Examples e = csv(text);
    CHECK(floats(e.features) == expected);
    CHECK(classes(e)[59'999] == 9);
    CHECK(csv_error(bad) == "line 30001, column 1: '3000x' is not a finite float32 value");
  }
}

TEST_CASE("the digits data set has 1797 rows of 64 values from 0 to 16 in 10 classes") {
  const Examples e = read_csv(STEN_SOURCE_DIR "/recipes/data/digits.csv");
  CHECK(e.features.extents == Shape{1797, 64});
  CHECK(e.classes() == 10);
  const std::vector<float> x = floats(e.features);
  CHECK(std::vector<float>(x.begin(), x.begin() + 8) ==
        std::vector<float>{0, 0, 5, 13, 9, 1, 0, 0});
  CHECK(*std::min_element(x.begin(), x.end()) == 0);
  CHECK(*std::max_element(x.begin(), x.end()) == 16);
  CHECK(classes(e).back() == 8);
}

TEST_CASE("directories, missing files and empty files are rejected by name") {
  const TempDir dir;
  CHECK(error_of([&] { read_csv(dir.path()); }) ==
        dir.path() + ": expected a data file, got a directory");
  CHECK(error_of([&] { read_csv(dir / "none"); }) == dir / "none" + ": No such file or directory");
  CHECK(error_of([&] { read_csv(dir.write("empty", "")); }) ==
        dir / "empty" + ": the file is empty");
}
