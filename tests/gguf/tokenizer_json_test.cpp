// SPDX-License-Identifier: Apache-2.0
// tokenizer.json and config.json of the metadata of GGUF files.
#include "libsten/files/gguf/tokenizer_json.h"

#include <doctest/doctest.h>

#include "libsten/core/base/error.h"
#include "libsten/core/base/json.h"
#include "libsten/files/gguf/config_json.h"
#include "libsten/files/gguf/recovered_merges.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

using namespace gguf_kind;

std::string entry(const std::string& key, const std::string& value) {
  return gguf_entry(key, text, gguf_text(value));
}
std::string entry(const std::string& key, std::uint32_t value) {
  return gguf_entry(key, u32, gguf_number(value));
}

// A vocabulary of SentencePiece without merges.
GgufBytes sentencepiece(const std::string& architecture) {
  const std::vector<std::string> tokens = {"<unk>", "<s>", "a", "b", "ab", "bb", "abb", "  "};
  return {
      .metadata = {
          entry("general.architecture", architecture),
          entry("tokenizer.ggml.model", "llama"),
          gguf_entry("tokenizer.ggml.tokens", array, gguf_list(text, tokens)),
          gguf_entry("tokenizer.ggml.scores", array,
                     gguf_list(gguf_kind::f32, std::vector<float>{0, 0, -7, -6, -2, -1, -3, -9})),
          gguf_entry("tokenizer.ggml.token_type", array,
                     gguf_list(i32, std::vector<std::int32_t>{2, 3, 1, 1, 1, 1, 1, 1})),
          entry("tokenizer.ggml.bos_token_id", 1),
          entry("tokenizer.ggml.unknown_token_id", 0),
      }};
}

nlohmann::ordered_json tokenizer(const GgufBytes& file) {
  const std::string bytes = file.str();
  return parse_json(gguf_tokenizer_json(parse_gguf(as_bytes(bytes), "m.gguf"), "m.gguf"), "it");
}

std::string tokenizer_error(const GgufBytes& file) {
  return error_of([&] { tokenizer(file); });
}

}  // namespace

TEST_CASE("merges are recovered from scores for Llama and from token order for Gemma") {
  // Scores: bb, then ab, then abb = ab + b or a + bb.
  const auto llama = tokenizer(sentencepiece("llama"));
  CHECK(llama["model"]["merges"].dump() == R"([["b","b"],["a","b"],["ab","b"],["a","bb"]])");
  CHECK(llama["model"]["byte_fallback"] == true);
  CHECK(llama["normalizer"]["normalizers"][0]["type"] == "Prepend");
  CHECK(llama["post_processor"]["single"][0]["SpecialToken"]["id"] == "<s>");
  CHECK(llama["added_tokens"].size() == 1);
  const auto gemma = tokenizer(sentencepiece("gemma2"));
  CHECK(gemma["model"]["merges"].dump() == R"([["a","b"],["b","b"],["ab","b"],["a","bb"]])");
  CHECK(gemma["normalizer"]["type"] == "Replace");
  CHECK(gemma["model"]["vocab"].contains("\xe2\x96\x81\xe2\x96\x81"));
}

TEST_CASE("recovered merges join whole UTF-8 characters, not single bytes") {
  CHECK(recovered_merges({"\xc3\xbc", "\xc3", "\xbc", "x", "x\xc3\xbc"}, {0, 0, 0, 0, 0}) ==
        std::vector<std::pair<std::size_t, std::size_t>>{{3, 0}});
}

TEST_CASE("GGUF tokenizers that tokenizer.json cannot express are rejected") {
  GgufBytes file = sentencepiece("llama");
  file.metadata[1] = entry("tokenizer.ggml.model", "rwkv");
  CHECK(tokenizer_error(file) ==
        "m.gguf: metadata 'tokenizer.ggml.model': expected gpt2 or llama, got 'rwkv'");
  file.metadata[1] = entry("tokenizer.ggml.model", "gpt2");
  file.metadata.push_back(entry("tokenizer.ggml.pre", "none-such"));
  CHECK(tokenizer_error(file) ==
        "m.gguf: metadata 'tokenizer.ggml.pre': unknown splitting of text 'none-such'");
  file = sentencepiece("llama");
  file.metadata[5] = entry("tokenizer.ggml.bos_token_id", 8);
  CHECK(tokenizer_error(file) ==
        "m.gguf: metadata 'tokenizer.ggml.bos_token_id': expected one of 8 tokens, got 8");
  file = sentencepiece("llama");
  file.metadata.erase(file.metadata.begin() + 3);
  CHECK(tokenizer_error(file) == "m.gguf: expected 'tokenizer.ggml.merges', or a score per token");
}

TEST_CASE("a sliding window of 0 becomes null, and OLMo 3 is rejected") {
  const auto config = [](const std::string& architecture, std::uint32_t window) {
    std::vector<std::string> metadata{entry("general.architecture", architecture)};
    const auto add = [&](const char* key, std::uint32_t value) {
      metadata.push_back(entry(architecture + "." + key, value));
    };
    for (const char* key : {"block_count", "embedding_length", "attention.head_count",
                            "feed_forward_length", "context_length", "vocab_size"})
      add(key, 4);
    add("attention.sliding_window", window);
    const std::string bytes = GgufBytes{.metadata = metadata}.str();
    return gguf_config_json(parse_gguf(as_bytes(bytes), "m.gguf"), "m.gguf");
  };
  CHECK(config("phi3", 0).find("\"sliding_window\": null") != std::string::npos);
  CHECK(config("phi3", 2).find("\"sliding_window\": 2") != std::string::npos);
  CHECK(error_of([&] { config("olmo2", 2); }) ==
        "m.gguf: OLMo 3, an olmo2 with sliding_window, is not supported");
}

TEST_CASE("GGUF models that config.json cannot express are rejected") {
  const auto config_error = [](const std::vector<std::string>& metadata) {
    const std::string bytes = GgufBytes{.metadata = metadata}.str();
    return error_of([&] { gguf_config_json(parse_gguf(as_bytes(bytes), "m.gguf"), "m.gguf"); });
  };
  CHECK(config_error({entry("general.architecture", "mamba")}) ==
        "m.gguf: unknown architecture 'mamba' (its config.json is not known)");
  const std::string llama = entry("general.architecture", "llama");
  const std::string qwen2 = entry("general.architecture", "qwen2"),
                    moe = entry("general.architecture", "qwen2moe");
  CHECK(config_error({qwen2, entry("qwen2.expert_count", 8)}) ==
        "m.gguf: metadata 'qwen2.expert_count': expected 0 for the architecture qwen2");
  CHECK(config_error({moe}) ==
        "m.gguf: missing integer 'qwen2moe.expert_count' > 0 in the metadata");
  CHECK(config_error({llama}) == "m.gguf: the metadata lack 'vocab_size' of config.json");
  CHECK(config_error({llama, entry("llama.block_count", "many")}) ==
        "m.gguf: metadata 'llama.block_count': expected an integer");
}
