// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "libsten/data/tokenizer/text_pattern.h"
#include "libsten/data/tokenizer/tokenizer.h"
#include "libsten/data/tokenizer/unicode_form.h"
#include "tests/support/bad_input.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Ids = std::vector<TokenId>;
const std::string folder = STEN_SOURCE_DIR "/tests/data/tokenizer/";

std::string content(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  REQUIRE(in);
  return out.str();
}

// A tokenizer.json of BPE with the subwords a, b, ab and <unk>, whose parts can be replaced.
nlohmann::ordered_json small_tokenizer() {
  return nlohmann::ordered_json::parse(R"({"normalizer": null, "pre_tokenizer": null,
    "post_processor": null, "decoder": null, "model": {"type": "BPE", "unk_token": "<unk>",
    "vocab": {"<unk>": 0, "a": 1, "b": 2, "ab": 3}, "merges": [["a", "b"]]}})");
}

// The error of reading small_tokenizer() with a value at a JSON pointer.
std::string error_with(const std::string& pointer, const std::string& value) {
  const TempDir dir;
  auto json = small_tokenizer();
  json[nlohmann::ordered_json::json_pointer(pointer)] = nlohmann::ordered_json::parse(value);
  const std::string file = dir.write("tokenizer.json", json.dump());
  return error_of([&] { read_tokenizer(file); });
}

std::vector<std::string> matches(const char* expression, std::string_view text) {
  const TextPattern p = TextPattern::regex(expression);
  std::vector<std::string> all;
  for (auto m = p.find(text, 0); m; m = p.find(text, m->end))
    all.emplace_back(text.substr(m->begin, m->end - m->begin));
  return all;
}

}  // namespace

// tests/data/tokenizer_reference.py writes the files.
TEST_CASE("encoding and decoding match Hugging Face for all reference tokenizers") {
  const auto all = nlohmann::json::parse(content(folder + "expected.json"));
  const auto& texts = all["texts"];
  CHECK(all["tokenizers"].size() == 15);
  for (const auto& item : all["tokenizers"].items()) {
    const std::string name = item.key();
    const auto& rows = item.value();
    CAPTURE(name);
    const TempDir dir;
    const auto t = read_tokenizer(dir.write("tokenizer.json", content(folder + name + ".json")));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      CAPTURE(texts[i]);
      const Array<TokenId> encoded = t->encode(texts[i].get<std::string>(), "text");
      const Ids ids(encoded.begin(), encoded.end());
      REQUIRE(ids == rows[i][0].get<Ids>());
      Ids around = rows[i][1].get<Ids>();
      around.insert(around.end(), ids.begin(), ids.end());
      for (const auto& id : rows[i][2]) around.push_back(id);
      REQUIRE(t->sequence(ids, nullptr, 1000).ids == around);
      REQUIRE(t->decode(ids) == rows[i][3].get<std::string>());
    }
  }
}

TEST_CASE("a long text split over threads has the expected token count and decodes back") {
  for (const char* name : {"llama3", "qwen2", "llama2", "opt"}) {
    CAPTURE(name);
    const TempDir dir;
    const auto t =
        read_tokenizer(dir.write("tokenizer.json", content(folder + std::string(name) + ".json")));
    // Longer than the part of a text that one thread encodes.
    const std::string line = "The weights of 2048 rows, isn't it\n\n  x = [1, 2];\n";
    std::string text;
    while (text.size() < 600000) text += line;
    const auto long_ids = t->encode(text, "text");
    const auto one = t->encode(line + line, "text"), two = t->encode(line + line + line, "text");
    const std::size_t n = text.size() / line.size(), per_line = two.size() - one.size();
    CHECK(long_ids.size() == one.size() + (n - 2) * per_line);
    CHECK(t->decode(Ids(long_ids.begin(), long_ids.end())).ends_with(text.substr(text.size() / 2)));
  }
}

TEST_CASE("unsupported tokenizer features are rejected by name") {
  const auto refused = [](const std::string& pointer, const std::string& value,
                          const std::string& message) {
    const std::string error = error_with(pointer, value);
    CAPTURE(error);
    CHECK(held(151, has(error, message) && has(error, "tokenizer.json: " + pointer) &&
                        error.find('\n') == std::string::npos));
  };
  CHECK(error_with("/decoder", "null") == "");
  refused("/normalizer", R"({"type": "Precompiled", "precompiled_charsmap": "AA"})",
          "the normalizer 'Precompiled' is not supported");
  refused("/normalizer", R"({"type": "Replace", "pattern": {"String": ""}, "content": "x"})",
          "pattern/String: expected a non-empty string");
  refused("/pre_tokenizer", R"({"type": "UnicodeScripts"})",
          "the pre-tokenizer 'UnicodeScripts' is not supported");
  refused("/pre_tokenizer", R"({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"},
          {"type": "Digits"}]})",
          "a pre-tokenizer after ByteLevel is not supported");
  refused("/post_processor", R"({"type": "Other"})", "the post-processor 'Other' is not supported");
  refused("/decoder", R"({"type": "CTC"})", "the decoder 'CTC' is not supported");
  refused("/model/dropout", "0.1", "expected 0.0, got 0.1");
  refused("/model/end_of_word_suffix", R"("</w>")", R"(expected "", got "</w>")");
  refused("/model/type", R"("WordLevel")", "expected WordPiece, BPE or Unigram");
  refused("/model/unk_token", R"("[UNK]")", "'[UNK]' is not in vocab");
  const auto split = [&](const std::string& expression, const std::string& message) {
    const nlohmann::json pattern = {{"Regex", expression}};
    refused("/pre_tokenizer",
            R"({"type": "Split", "behavior": "Isolated", "pattern": )" + pattern.dump() + "}",
            message);
  };
  split(R"(a(?=b))", "'(?=b' is not supported");
  split(R"(\s+(?!\S)|a|\s+(?!\S))", "is supported once");
  split(R"(\s+(?!\S)+)", "'(?!\\' is not supported");
  split(R"(\w+)", R"('\w' is not supported)");
  split(R"(\p{Greek})", R"('\p{Greek}' is not supported)");
  split(R"(a++)", "'++' is not supported");
  split(R"([a[b]])", "'[' is not supported in a class");
  split("^a", "'^' is not supported");
  split("(?i:fi)", "supported for ASCII letters only");
  split("a*", "matches the empty text");
  split("(a", "'(' is without an end");
  split("(((a{900}){900}){900})", "regular expression");
}

TEST_CASE("a Metaspace with prepend_scheme first applies after another Metaspace") {
  const TempDir dir;
  auto json = small_tokenizer();
  json["pre_tokenizer"] = nlohmann::ordered_json::parse(R"({"type": "Sequence", "pretokenizers": [
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "never"},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"}]})");
  json["model"]["vocab"]["\u2581"] = 4;
  const auto t = read_tokenizer(dir.write("tokenizer.json", json.dump()));
  const Array<TokenId> ids = t->encode("ab a", "text");
  CHECK(Ids(ids.begin(), ids.end()) == Ids{4, 3, 4, 1});
}

TEST_CASE("BPE without an unknown token rejects characters outside its vocabulary") {
  const TempDir dir;
  auto json = small_tokenizer();
  json["model"].erase("unk_token");
  const auto t = read_tokenizer(dir.write("tokenizer.json", json.dump()));
  CHECK(t->kind() == "BPE");
  CHECK(held(152, has(error_of([&] { t->encode("abc", "text"); }), "missing subword for 'c'")));
}

TEST_CASE("whitespace before a word is split as by the lookahead of GPT's regular expressions") {
  using Texts = std::vector<std::string>;
  const char* const spaces = R"(\p{L}+|\s+(?!\S)|\s+)";
  CHECK(matches(spaces, "a  b") == Texts{"a", " ", " ", "b"});
  CHECK(matches(spaces, "a   b ") == Texts{"a", "  ", " ", "b", " "});
  CHECK(matches(spaces, " \n\u3000b\n\n") == Texts{" \n", "\u3000", "b", "\n\n"});
  CHECK(matches(R"(\s*[\r\n]+|\s+(?!\S)|\s+)", "  \n  x") == Texts{"  \n", " ", " "});
  CHECK(matches("(?i:'LL)|[^a-c]", "a'lLbd") == Texts{"'lL", "d"});
  CHECK(matches(R"(\p{Lu}|\P{L}{2})", "aB12\u00c4") == Texts{"B", "12", "\u00c4"});
}

TEST_CASE("text is composed and decomposed by the Unicode normalization forms") {
  CHECK(in_form("e\u0301 \uac00 \u2adc", {false, false}) == "e\u0301 \u1100\u1161 \u2add\u0338");
  CHECK(in_form("\u1100\u1161\u11a8 e\u0323\u0302 \u2add\u0338", {}) ==
        "\uac01 \u1ec7 \u2add\u0338");
  CHECK(in_form("a\u0302\u0323", {}) == "\u1ead");
  CHECK(in_form("\ufb01 \u00bd \u2126", {true, true}) == "fi 1\u20442 \u03a9");
}
