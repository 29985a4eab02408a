// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/tokenizer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "libsten/data/tokenizer/longest_prefix.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Ids = std::vector<TokenId>;

Ids encoded(const Tokenizer& t, std::string_view text) {
  const Array<TokenId> ids = t.encode(text, "text");
  return {ids.begin(), ids.end()};
}

// 0 [PAD], 1 [UNK], 2 [CLS], 3 [SEP], 4 [MASK], 5 un, 6 ##aff, 7 ##able, 8 cafe, 9 !, 10 東, 11 a
std::string word_piece(const TempDir& dir) {
  return dir.write("vocab.txt",
                   "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\ncafe\n!\n東\na\n");
}

}  // namespace

TEST_CASE("WordPiece matches the longest subwords, ignoring case and accents") {
  const TempDir dir;
  const auto t = read_tokenizer(word_piece(dir));
  CHECK(t->kind() == "WordPiece");
  CHECK(t->size() == 12);
  CHECK(encoded(*t, "unaffable") == Ids{5, 6, 7});
  CHECK(encoded(*t, "Café!") == Ids{8, 9});
  CHECK(encoded(*t, "CAFE\u0301\t!\n") == Ids{8, 9});
  CHECK(encoded(*t, "a東a") == Ids{11, 10, 11});
  CHECK(encoded(*t, "unkind a") == Ids{1, 11});
  CHECK(encoded(*t, "a[MASK] a") == Ids{11, 4, 11});
  CHECK(encoded(*t, std::string(101, 'a')) == Ids{1});
  CHECK(encoded(*t, "").empty());
  CHECK(t->decode(Ids{2, 5, 6, 7, 9, 3}) == "unaffable!");
  const Ids a{5, 6, 7, 9}, b{11};
  const std::span<const TokenId> second(b);
  const TokenSequence both = t->sequence(a, &second, 6);
  CHECK(both.ids == Ids{2, 5, 6, 3, 11, 3});
  CHECK(both.types == std::vector<std::int32_t>{0, 0, 0, 0, 1, 1});
  CHECK(t->around() == 2);
}

TEST_CASE("do_lower_case=false makes WordPiece sensitive to case and accents") {
  const TempDir dir;
  const std::string file = word_piece(dir);
  dir.write("tokenizer_config.json", R"({"do_lower_case": false})");
  const auto t = read_tokenizer(file);
  CHECK(encoded(*t, "cafe Café") == Ids{8, 1});
}

TEST_CASE("WordPiece added tokens match single words and decode to their normalized form") {
  const TempDir dir;
  const auto t = read_tokenizer(dir.write("tokenizer.json", R"({
    "added_tokens": [{"id": 5, "content": "covid", "single_word": true, "normalized": true},
      {"id": 6, "content": "CAF\u00c9", "normalized": true}],
    "normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
    "post_processor": null, "decoder": {"type": "WordPiece"},
    "model": {"type": "WordPiece",
      "vocab": {"[UNK]": 0, "co": 1, "##vid": 2, "##ien": 3, "a": 4}}})"));
  CHECK(encoded(*t, "covidien covid a") == Ids{1, 2, 3, 5, 4});
  CHECK(encoded(*t, "a caf\u00e9") == Ids{4, 6});
  CHECK(t->decode(Ids{4, 6, 5}) == "a cafe covid");
  const TempDir other;
  other.write("tokenizer_config.json", R"({"added_tokens_decoder": {"5": {"content": "covid",
    "single_word": true}}})");
  const auto more = read_tokenizer(other.write("vocab.txt", "[UNK]\nco\n##vid\n##ien\na\n"));
  CHECK(encoded(*more, "covidien covid") == Ids{1, 2, 3, 5});
}

TEST_CASE("byte-level BPE merges in the order of ranks and encodes non-ASCII bytes") {
  const TempDir dir;
  std::string vocabulary = R"({"<|endoftext|>": 0, "h": 1, "e": 2, "l": 3, "o": 4, "Ġ": 5,)";
  vocabulary += R"("he": 6, "ll": 7, "hell": 8, "hello": 9, "Ġh": 10, "Ã": 11, "©": 12})";
  dir.write("vocab.json", vocabulary);
  dir.write("merges.txt", "#version: 0.2\nh e\nl l\nhe ll\nhell o\nĠ h\n");
  const auto t = read_tokenizer(dir / "vocab.json");
  CHECK(t->kind() == "byte-level BPE");
  CHECK(encoded(*t, "hello") == Ids{9});
  // "h e" comes before "Ġ h".
  CHECK(encoded(*t, "hello hello") == Ids{9, 5, 9});
  CHECK(encoded(*t, "ho ho") == Ids{1, 4, 10, 4});
  CHECK(encoded(*t, "é") == Ids{11, 12});
  CHECK(encoded(*t, "hello<|endoftext|>he") == Ids{9, 0, 6});
  CHECK(t->decode(Ids{9, 5, 9, 0, 11, 12}) == "hello hello\u00e9");
}

TEST_CASE("LongestPrefix finds the longest entry that a text starts with") {
  std::mt19937 random(1);
  const auto word = [&](std::size_t most) {
    std::string s;
    for (std::size_t n = random() % (most + 1); n > 0; --n) s += "ab\xc3"[random() % 3];
    return s;
  };
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<std::string> entries;
    for (std::size_t n = random() % 12; n > 0; --n) entries.push_back(word(5));
    LongestPrefix table;
    for (std::size_t i = 0; i < entries.size(); ++i)
      table.add(entries[i], static_cast<std::int32_t>(i));
    table.sort();
    const std::string text = word(9);
    std::string best;
    for (const std::string& e : entries)
      if (text.starts_with(e) && e.size() > best.size()) best = e;
    const LongestPrefix::Match found = table.find(text);
    CHECK(found.bytes == best.size());
    if (!best.empty()) CHECK(entries[static_cast<std::size_t>(found.value)] == best);
    if (!best.empty()) CHECK(found.value == std::ranges::find(entries, best) - entries.begin());
  }
}

TEST_CASE("oversized ids, templates and tokens in a tokenizer.json are rejected") {
  const TempDir dir;
  const auto error_with = [&](const std::string& change_from, const std::string& to) {
    std::string text = R"({"added_tokens": [], "normalizer": null,
      "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": {"type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {"[CLS]": {"ids": [2]}}},
      "model": {"type": "WordPiece", "max_input_chars_per_word": 100,
        "vocab": {"[UNK]": 0, "a": 1, "[CLS]": 2}}})";
    const std::size_t at = text.find(change_from);
    REQUIRE(at != std::string::npos);
    text.replace(at, change_from.size(), to);
    const std::string file = dir.write("tokenizer.json", text);
    const std::string error = error_of([&] { read_tokenizer(file); });
    CAPTURE(error);
    CHECK((error.empty() || error.size() < 1000));
    return error;
  };
  const auto repeated = [](const std::string& s, int n) {
    std::string all = s;
    for (int i = 1; i < n; ++i) all += ", " + s;
    return all;
  };
  CHECK(error_with("[2]", "[2]") == "");
  CHECK(has(error_with(R"("a": 1)", R"("a": 16777215)"), "id of 'a' is 16777215: expected 0 to 6"));
  CHECK(error_with(R"("a": 1)", R"("a": 60000)") == "");
  CHECK(has(error_with(R"("a": 1)", R"("a": 70000)"), "is 70000: expected 0 to 65"));
  CHECK(has(error_with("[2]", "[" + repeated("2", 3000) + "]"),
            "single: expected at most 256 tokens"));
  CHECK(has(error_with(R"({"Sequence": {"id": "A", "type_id": 0}})",
                       repeated(R"({"SpecialToken": {"id": "[CLS]", "type_id": 0}})", 300)),
            "single: expected at most 256 tokens"));
  CHECK(has(error_with(": 100", ": 40000"),
            "max_input_chars_per_word: expected an integer from 0 to 1000, got 40000"));
  CHECK(error_with("[]", R"([{"id": 3, "content": "<m>"}])") == "");
  CHECK(has(error_with("[]", R"([{"id": 3, "content": ")" + std::string(1001, 'm') + R"("}])"),
            "content: 1001 bytes are more than 1000"));
}

TEST_CASE("damaged vocabularies are rejected with the file name") {
  const TempDir dir;
  const auto refused = [&](const char* name, const std::string& text) {
    const std::string file = dir.write(name, text);
    const std::string error = error_of([&] { read_tokenizer(file); });
    CAPTURE(error);
    CHECK(has(error, name));
  };
  refused("vocab.txt", "");
  refused("vocab.txt", "[UNK]\na\na\n");
  refused("vocab.txt", "a\nb\n");  // without [UNK]
  refused("vocab.txt", "[UNK]\n\xff\n");
  refused("tokenizer.json", "{");
  refused("tokenizer.json", R"({"model": {"type": "Unigram", "vocab": []}})");
  CHECK(error_of([&] { read_tokenizer(dir / "none"); }) != "");
}
