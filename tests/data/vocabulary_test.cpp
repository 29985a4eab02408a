// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/vocabulary.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "libsten/core/base/error.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using namespace std::string_literals;

namespace {

Vocabulary vocabulary(const std::string& json) {
  return Vocabulary::parse(as_bytes(json), "vocab.json");
}
std::string vocabulary_error(const std::string& json) {
  return error_in("vocab.json", [&] { vocabulary(json); });
}
std::vector<int> ids(const Array<TokenId>& v) { return {v.begin(), v.end()}; }

}  // namespace

TEST_CASE("each character has one id, whatever its length in UTF-8") {
  const Vocabulary v = vocabulary(R"({"[UNK]": 1, "a": 5, "\n": 7, "ß": 2, "€": 3, "😀": 9})");
  CHECK(v.size() == 10);
  CHECK(v.ordinary() == std::vector<TokenId>{2, 3, 5, 7, 9});
  CHECK(v.special("[UNK]") == 1);
  CHECK(!v.special("[MASK]"));
  CHECK(ids(v.encode("aß€😀\nb", "in.txt")) == std::vector<int>{5, 2, 3, 9, 7, 1});
  CHECK(v.encode("", "in.txt").size() == 0);
}

TEST_CASE("a vocabulary without [UNK] rejects unknown characters") {
  CHECK(error_of([] { vocabulary(R"({"a": 0, "\n": 1})").encode("a\naöb", "in.txt"); }) ==
        "in.txt: line 2, byte 4 of the file: 'ö' is not in vocab.json (and [UNK] is missing)");
}

TEST_CASE("text that is not valid UTF-8 is rejected with its position") {
  const Vocabulary v = vocabulary(R"({"a": 0, "\n": 1, "[UNK]": 2})");
  for (const std::string bad : {"\xff", "\xc3", "\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                                "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xe2\x82"})
    for (const std::string after : {"", "a"})
      CHECK(error_of([&] { v.encode("a\n" + bad + after, "in.txt"); }) ==
            "in.txt: line 2, byte 3 of the file: invalid UTF-8");
}

TEST_CASE("damaged and non-character vocabularies are rejected") {
  const struct {
    std::string json, message;
  } cases[] = {
      {"{", "not JSON at line 1, column 2"},
      {"[1]", "expected a JSON object of token ids"},
      {"3", "expected a JSON object of token ids"},
      {R"({"a": {"b": 1}})", "expected a JSON object of token ids"},
      {std::string(100'000, '['), "nested too deeply"},
      {R"({"a": 1, "\u0061": 2})", "duplicate key 'a'"},
      {R"({"a": 1, "b": 1})", "'a' and 'b' both have the id 1"},
      {R"({"a": -1})", "the id of 'a' must be from 0 to 65537"},
      {R"({"a": 1.0})", "the id of 'a' must be from 0 to 65537"},
      {R"({"a": 16777216})", "the id of 'a' must be from 0 to 65538"},
      {R"({"a": "1"})", "the id of 'a' must be from 0 to 65537"},
      {R"({"a": 1e999})", "number beyond the range of a double"},
      {R"({"the": 1})", "'the' is not one character or a special token such as [MASK]"},
      {R"({"": 1})", "'' is not one character or a special token such as [MASK]"},
      {R"({"[PAD]": 0})", "no characters found"},
      {"{}", "no characters found"},
  };
  for (const auto& c : cases) CHECK(vocabulary_error(c.json) == c.message);
}

TEST_CASE("the shipped vocabulary has every character of the shipped text") {
  const Vocabulary v =
      Vocabulary::read(STEN_SOURCE_DIR "/recipes/models/shakespeare-bert/vocab.json");
  CHECK(v.size() == 70);
  CHECK(v.ordinary().size() == 65);
  CHECK(v.ordinary().front() == 5);
  CHECK(v.special("[MASK]") == 4);
  const Array<TokenId> text = read_text(STEN_SOURCE_DIR "/recipes/data/tinyshakespeare.txt", v);
  CHECK(text.size() == 1'115'394);
  // "First"
  CHECK(ids(text).at(0) == 23);
  CHECK(ids(text).at(4) == 63);
  CHECK(std::find(text.begin(), text.end(), *v.special("[UNK]")) == text.end());
}

TEST_CASE("a Git LFS pointer is rejected, and text that starts like markup is read") {
  const TempDir dir;
  const Vocabulary v = vocabulary(R"({"a": 0, "[UNK]": 1})");
  CHECK(error_of([&] {
          read_text(dir.write("x", "version https://git-lfs.github.com/spec/v1"), v);
        }).starts_with(dir / "x" + ": expected a data file, got a Git LFS pointer"));
  CHECK(ids(read_text(dir.write("x", "<a>"), v)) == std::vector<int>{1, 0, 1});
}
