// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/labelled_text.h"

#include <doctest/doctest.h>

#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::vector<LabelledText> texts(const char* name, const std::string& bytes,
                                const TextColumns& columns = {}) {
  const TempDir dir;
  return read_labelled_text(dir.write(name, bytes), columns);
}
std::vector<LabelledWords> words(const char* name, const std::string& bytes) {
  const TempDir dir;
  return read_labelled_words(dir.write(name, bytes), {"tokens", "labels", ""});
}
// The error message without the directory.
template <class F>
std::string problem(F&& f) {
  std::string text = error_of(f);
  return text.substr(std::min(text.find("r."), text.size()));
}

}  // namespace

TEST_CASE("CSV fields are parsed as in RFC 4180") {
  const auto rows = texts("r.csv",
                          "\xEF\xBB\xBFlabel,text,more\r\n"
                          "good,\"a \"\"b\"\", c\nd\",1\r\n"
                          "\r\n"
                          "bad, e f ,\n"
                          "\"so, so\",,x",
                          {.text = "text", .label = "label", .pair = "more"});
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].text == "a \"b\", c\nd");
  CHECK(rows[0].label == "good");
  CHECK(rows[0].pair == "1");
  CHECK(rows[0].line == 2);
  CHECK(rows[1].text == " e f ");
  CHECK(rows[1].pair.empty());
  CHECK(rows[1].line == 5);
  CHECK(rows[2].label == "so, so");
  CHECK(rows[2].text.empty());
}

TEST_CASE("TSV and JSON Lines are read, with string, integer and boolean labels") {
  const auto rows = texts("r.tsv", "text\tlabel\na, b\t1\n\t2\nc\t\"3\"\n");
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].text == "a, b");
  CHECK(rows[1].label == "2");
  const auto lines =
      texts("r.jsonl",
            "{\"text\": \"a\\n\\u00e9\", \"label\": 1, \"other\": [1]}\n \n"
            "{\"label\": true, \"text\": \"\"}\r\n{\"text\": \"x\", \"label\": \"y\"}");
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].text == "a\n\xC3\xA9");
  CHECK(lines[0].label == "1");
  CHECK(lines[1].label == "true");
  CHECK(lines[1].line == 3);
  CHECK(lines[2].label == "y");
}

TEST_CASE("words and their labels are read from lists or whitespace-separated text") {
  for (const auto& rows :
       {words("r.jsonl", R"({"tokens": ["New York", "is"], "labels": ["B-P", "O"]})"
                         "\n"
                         R"({"tokens": "a  b\tc", "labels": [0, 1, 0]})"),
        words("r.csv", "tokens,labels\nNew is,B-P O\n a  b\tc,0 1 0\n")}) {
    REQUIRE(rows.size() == 2);
    CHECK(rows[0].words.size() == 2);
    CHECK(rows[0].labels == std::vector<std::string>{"B-P", "O"});
    CHECK(rows[1].words == std::vector<std::string>{"a", "b", "c"});
    CHECK(rows[1].labels == std::vector<std::string>{"0", "1", "0"});
  }
}

TEST_CASE("malformed files of labelled text are rejected with their line") {
  const auto of_texts = [](const char* name, const std::string& bytes) {
    return problem([&] { texts(name, bytes); });
  };
  CHECK(of_texts("r.txt", "x") ==
        "r.txt: expected a name that ends in .csv, .tsv, .jsonl or .json");
  CHECK(of_texts("r.csv", "text,label\n") == "r.csv: no rows found");
  CHECK(of_texts("r.csv", "text,lable\na,b\n") ==
        "r.csv: unknown column 'label' (expected one of text, lable)");
  CHECK(of_texts("r.csv", "text,label\na,b\na,b,c\n") ==
        "r.csv: line 3 has 3 fields, expected 2 as in the header");
  CHECK(of_texts("r.csv", "text,label\n\"a,b\n") == "r.csv: line 2: unterminated quote");
  CHECK(of_texts("r.csv", "text,label\na,\n") == "r.csv: line 2: empty label");
  CHECK(of_texts("r.jsonl", "{\"text\": \"a\", \"label\": 1}\n[1]\n") ==
        "r.jsonl: line 2: expected a JSON object");
  CHECK(of_texts("r.jsonl", "{\"text\": \"a\"") ==
        "r.jsonl: line 1: not JSON at line 1, column 13");
  CHECK(of_texts("r.jsonl", "{\"text\": \"a\", \"lable\": 1}") ==
        "r.jsonl: line 1: unknown column 'label' (expected one of text, lable)");
  CHECK(of_texts("r.jsonl", "{\"text\": \"a\", \"label\": 1.5}") ==
        "r.jsonl: line 1: 'label' must be a string, an integer or a boolean");
  CHECK(of_texts("r.jsonl", "{\"text\": 3, \"label\": 1}") ==
        "r.jsonl: line 1: 'text' must be a string");
  CHECK(problem([] { words("r.csv", "tokens,labels\na b,O\n"); }) ==
        "r.csv: line 2: 2 words do not fit 1 labels");
  CHECK(problem([] { words("r.csv", "tokens,labels\n,\n"); }) == "r.csv: line 2: no words found");
}
