// SPDX-License-Identifier: Apache-2.0
// tests/data/sentencepiece_reference.py writes the files.
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "libsten/data/tokenizer/tokenizer.h"
#include "libsten/files/gguf/sentencepiece_metadata.h"
#include "tests/support/bad_input.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Ids = std::vector<TokenId>;
const std::string sentencepiece_files = STEN_SOURCE_DIR "/tests/data/sentencepiece/";

std::string bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  REQUIRE(in);
  return out.str();
}

// The tokenizer of a directory with a model and a tokenizer_config.json.
std::shared_ptr<const Tokenizer> tokenizer_with(const TempDir& dir, const std::string& model,
                                                const std::string& config) {
  dir.write("tokenizer.model", bytes_of_file(sentencepiece_files + model + ".model"));
  dir.write("tokenizer_config.json", config);
  return read_tokenizer(dir.path());
}

Ids ids_of(const Tokenizer& t, const std::string& text) {
  const Array<TokenId> ids = t.encode(text, "text");
  return {ids.begin(), ids.end()};
}

Ids sequence(const Tokenizer& t, const std::string& text) {
  return t.sequence(ids_of(t, text), nullptr, 1000).ids;
}

std::string field(char number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

// A GGUF file with the tokenizer of a T5.
std::string t5_gguf(const std::vector<float>& scores) {
  const std::vector<std::string> tokens = {"<pad>", "</s>", "<unk>", "▁", "a", "b", "▁a", "ab"};
  const std::vector<std::int32_t> types = {3, 3, 2, 1, 1, 1, 1, 1};
  const auto list = [](const char* key, const std::string& values) {
    return gguf_entry(std::string("tokenizer.ggml.") + key, gguf_kind::array, values);
  };
  const GgufBytes file{
      .metadata = {gguf_entry("general.architecture", gguf_kind::text, gguf_text("t5")),
                   gguf_entry("tokenizer.ggml.model", gguf_kind::text, gguf_text("t5")),
                   list("tokens", gguf_list(gguf_kind::text, tokens)),
                   list("scores", gguf_list(gguf_kind::f32, scores)),
                   list("token_type", gguf_list(gguf_kind::i32, types)),
                   gguf_entry("tokenizer.ggml.eos_token_id", gguf_kind::u32,
                              gguf_number(std::uint32_t{1}))}};
  return file.str();
}

// A GGUF file with the tokenizer of a model, as sten-convert writes it.
std::string gguf_of(const std::string& model, const std::string& settings, std::size_t vocabulary) {
  const std::string bytes = bytes_of_file(sentencepiece_files + model + ".model");
  GgufMetadata metadata;
  metadata.add("general.architecture", model == "gemma" ? "gemma2" : "llama");
  add_sentencepiece_metadata(parse_sentencepiece(as_bytes(bytes), "m.model"), "m.model",
                             {"tokenizer_config.json", nlohmann::ordered_json::parse(settings)}, {},
                             vocabulary, metadata);
  std::vector<GgufTensor> tensors;
  return gguf_header(metadata, tensors);
}

}  // namespace

TEST_CASE("encoding and decoding with a tokenizer.model match SentencePiece") {
  const auto all = nlohmann::json::parse(bytes_of_file(sentencepiece_files + "expected.json"));
  const auto& texts = all["texts"];
  CHECK(all["models"].size() == 4);
  for (const auto& item : all["models"].items()) {
    CAPTURE(item.key());
    const auto t = read_tokenizer(sentencepiece_files + item.key() + ".model");
    CHECK(t->kind() == (item.key().starts_with("unigram") ? "Unigram" : "BPE"));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      CAPTURE(texts[i]);
      const Ids ids = ids_of(*t, texts[i].get<std::string>());
      REQUIRE(ids == item.value()[i][0].get<Ids>());
      REQUIRE(t->decode(ids) == item.value()[i][1].get<std::string>());
    }
  }
}

TEST_CASE("tokenizer_config.json sets the bos and eos tokens; the default adds only bos") {
  const TempDir dir;
  const auto t = tokenizer_with(dir, "llama", "{}");
  CHECK(t->special_ids().bos == 1);
  CHECK(t->special_ids().eos == 2);
  const Ids a = ids_of(*t, "a");
  CHECK(sequence(*t, "a") == Ids{1, a[0]});
  CHECK(t->files()[0].first == "tokenizer.model");
  const auto both = tokenizer_with(dir, "llama", R"({"add_bos_token": false, "add_eos_token": true,
                                                     "eos_token": "[INST]"})");
  CHECK(sequence(*both, "a") == Ids{a[0], 3});
}

TEST_CASE("special and added tokens are matched, with a space prefix after them in legacy mode") {
  const TempDir dir;
  const std::string added =
      R"("added_tokens_decoder": {"480": {"content": "<new>", "special": false}})";
  const auto t = tokenizer_with(dir, "llama", "{" + added + "}");
  const Ids a = ids_of(*t, "a");
  REQUIRE(a.size() == 1);
  CHECK(t->size() == 481);
  CHECK(ids_of(*t, "a</s>a<new>a") == Ids{a[0], 2, a[0], 480, a[0]});
  CHECK(t->decode(Ids{a[0], 2, 480}) == "a<new>");
  const auto one = tokenizer_with(dir, "llama", R"({"legacy": false, )" + added + "}");
  const Ids ids = ids_of(*one, "a<new>a");
  REQUIRE(ids.size() == 3);
  CHECK(ids[0] == a[0]);
  CHECK(one->entry(ids[2]) == "a");
}

TEST_CASE("tokenizer.json is preferred to tokenizer.model in a directory") {
  const TempDir dir;
  dir.write("tokenizer.model", "");
  const std::string json = dir.write("tokenizer.json", "{}");
  CHECK(tokenizer_file(dir.path()) == json);
}

TEST_CASE("a broken or unsupported tokenizer.model is rejected with a one-line error") {
  const TempDir dir;
  const auto refused = [&](const std::string& bytes, const std::string& message) {
    const std::string file = dir.write("tokenizer.model", bytes);
    const std::string error = error_of([&] { read_tokenizer(file); });
    CAPTURE(error);
    CHECK(held(160, has(error, "tokenizer.model: ") && has(error, message) &&
                        error.find('\n') == std::string::npos));
  };
  const std::string piece = field(1, field(1, "a"));
  refused("\n", "byte 0: the length of field 1 is cut off");
  refused("", "the file is empty");
  refused(field(4, ""), "no pieces found");
  refused(field(1, ""), "piece 0: expected a text in UTF-8, got ''");
  refused(field(1, field(1, "a") + "\x18\x07"), "piece 0: expected a type from 1 to 6, got 7");
  refused(field(1, field(1, "a") + std::string("\x15\0\0\x80\x7f", 5)), "expected a finite score");
  refused(piece, "expected the id of one of 1 pieces, got 1");
  refused(piece + field(2, "\x18\x03"), "expected a model of kind 1 (Unigram) or 2 (BPE), got 3");
  refused(piece + field(2, "\xc0\x01\x01"), "treat_whitespace_as_suffix is not supported");
  refused(piece + field(5, field(2, "x")), "rules for decoded text");
  const std::string no_ids = "\xc8\x02\x7f\xd0\x02\x7f";  // 127 for bos and eos
  refused(piece + field(2, no_ids), "got 127");
  refused(piece + piece + piece, "'a' occurs twice, with the ids 0 and 1");
  // One bit of every seventh byte of a model changed: a one-line error, or ids.
  const std::string model = bytes_of_file(sentencepiece_files + "unigram.model");
  for (std::size_t i = 0; i < model.size(); i += 7) {
    std::string changed = model;
    changed[i] = static_cast<char>(changed[i] ^ (1 << i % 8));
    const std::string file = dir.write("tokenizer.model", changed);
    const std::string error = error_of([&] { read_tokenizer(file)->encode("ＡＢ ﬁ x", "text"); });
    CHECK(error.find('\n') == std::string::npos);
  }
}

TEST_CASE("a T5 tokenizer in a GGUF file is Unigram and appends the eos token") {
  const TempDir dir;
  const std::string file = dir.write("t5.gguf", t5_gguf({0, 0, 0, -3, -2, -2, -2.5f, -3}));
  const auto t = read_tokenizer(file);
  CHECK(t->kind() == "Unigram");
  CHECK(ids_of(*t, "  ab  a") == Ids{6, 5, 6});
  CHECK(ids_of(*t, "bab") == Ids{3, 5, 7});
  CHECK(sequence(*t, "ac") == Ids{6, 2, 1});
  CHECK(t->decode(Ids{6, 5, 6, 1}) == "ab a");
  dir.write("t5.gguf", t5_gguf({0}));
  CHECK(has(error_of([&] { read_tokenizer(file); }),
            "expected a score and a type per token, got 8 tokens, 1 scores and 8 types"));
}

TEST_CASE("a GGUF file written from a tokenizer.model encodes text to the same ids") {
  const auto all = nlohmann::json::parse(bytes_of_file(sentencepiece_files + "expected.json"));
  const Warnings warnings;
  const TempDir dir;
  for (const char* model : {"llama", "gemma"}) {
    CAPTURE(model);
    dir.write("m.gguf", gguf_of(model, "{}", 500));
    const auto t = read_tokenizer(dir / "m.gguf");
    CHECK(t->size() == 500);
    const auto& expected = all["models"][model];
    for (std::size_t i = 0; i < all["texts"].size(); ++i) {
      const auto text = all["texts"][i].get<std::string>();
      CAPTURE(text);
      // With Gemma's GGUF file, runs of spaces are merged as in transformers; SentencePiece
      // prefers the longest token.
      if (model == std::string("gemma") && text.starts_with("    ")) continue;
      CHECK(ids_of(*t, text) == expected[i][0].get<Ids>());
    }
  }
  CHECK(warnings.all.empty());
}

TEST_CASE("special and added tokens of a tokenizer.model are written to the GGUF file") {
  const std::string bytes =
      gguf_of("llama", R"({"add_eos_token": true, "pad_token": "</s>", "chat_template": "x",
                           "added_tokens_decoder": {"1": {"content": "<s>", "special": true},
                                                    "480": {"content": "<new>", "special": false}}})",
              490);
  const GgufFile f = parse_gguf(as_bytes(bytes), "m.gguf");
  CHECK(f.text("tokenizer.ggml.model") == "llama");
  CHECK(f.integer("tokenizer.ggml.bos_token_id") == 1);
  CHECK(f.integer("tokenizer.ggml.eos_token_id") == 2);
  CHECK(f.integer("tokenizer.ggml.unknown_token_id") == 0);
  CHECK(f.integer("tokenizer.ggml.padding_token_id") == 2);
  CHECK(f.boolean("tokenizer.ggml.add_bos_token") == true);
  CHECK(f.boolean("tokenizer.ggml.add_eos_token") == true);
  CHECK(f.boolean("tokenizer.ggml.add_space_prefix") == true);
  CHECK(f.text("tokenizer.chat_template") == "x");
  const auto tokens = f.find("tokenizer.ggml.tokens")->texts();
  const auto types = f.find("tokenizer.ggml.token_type")->reals();
  REQUIRE(tokens.size() == 490);
  REQUIRE(types.size() == 490);
  CHECK(f.find("tokenizer.ggml.scores")->reals().size() == 490);
  CHECK(types[0] == 2);  // <unk>
  CHECK(types[1] == 3);  // <s>: control
  CHECK(tokens[480] == "<new>");
  CHECK(types[480] == 4);  // user-defined
  CHECK(tokens[481] == "[PAD481]");
  CHECK(types[481] == 5);  // unused
}

TEST_CASE("a tokenizer.model that GGUF's llama tokenizer cannot express is rejected") {
  const auto refusal = [](const char* model, const char* settings, std::size_t vocabulary) {
    return error_of([&] { gguf_of(model, settings, vocabulary); });
  };
  const std::string few = refusal("llama", "{}", 61);
  CHECK(few.starts_with("m.model: token "));
  CHECK(few.ends_with(": expected an id below 61, the rows of the embedding, got 61"));
  const std::string unigram = refusal("unigram", "{}", 500);
  CHECK(unigram == "m.model: expected BPE as the model, got Unigram");
  const std::string ids =
      refusal("llama", R"({"added_tokens_decoder": {"x": {"content": "a"}}})", 500);
  CHECK(ids ==
        "tokenizer_config.json: 'added_tokens_decoder': expected ids with texts as 'content'");
}
