// SPDX-License-Identifier: Apache-2.0
// Metadata of GGUF files from the files of a Hugging Face directory, and config.json of metadata.
#include <doctest/doctest.h>

#include "libsten/core/base/error.h"
#include "libsten/core/base/json.h"
#include "libsten/files/gguf/config_json.h"
#include "libsten/files/gguf/model_metadata.h"
#include "libsten/files/gguf/tokenizer_json.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/tensors.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Json = nlohmann::ordered_json;

// As parsed from a file, where integers >= 0 are unsigned.
Json as_parsed(const Json& json) { return Json::parse(json.dump()); }

// A config.json of small sizes with other members.
Json small_config(const char* model_type, const Json& others = Json::object()) {
  Json config = {{"model_type", model_type},       {"vocab_size", 8},
                 {"max_position_embeddings", 160}, {"hidden_size", 64},
                 {"num_hidden_layers", 4},         {"intermediate_size", 96},
                 {"num_attention_heads", 4}};
  config.update(others);
  return config;
}

// A file of metadata alone.
struct WrittenMetadata {
  std::string bytes;
  GgufFile file;

  explicit WrittenMetadata(const GgufMetadata& metadata) {
    std::vector<GgufTensor> none;
    bytes = gguf_header(metadata, none);
    file = parse_gguf(as_bytes(bytes), "m.gguf");
  }
};

WrittenMetadata written_model(const Json& config) {
  GgufMetadata metadata;
  add_model_metadata({"config.json", as_parsed(config)}, metadata);
  return WrittenMetadata(metadata);
}
std::string model_error(const Json& config) {
  return error_of([&] { written_model(config); });
}
// The config.json that is read back from the metadata written for a config.json.
Json config_again(const Json& config) {
  const WrittenMetadata m = written_model(config);
  return parse_json(gguf_config_json(m.file, "m.gguf"), "config.json");
}

// Byte-level BPE with the tokens a, b and c, where `change` edits the document.
Json small_tokenizer(const std::function<void(Json&)>& change = [](Json&) {}) {
  Json t = {
      {"added_tokens", Json::array()},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}}},
      {"model",
       {{"type", "BPE"}, {"vocab", {{"a", 0}, {"b", 1}, {"c", 2}}}, {"merges", Json::array()}}}};
  change(t);
  return t;
}
WrittenMetadata written_tokenizer(const Json& tokenizer, std::size_t rows,
                                  const char* model_type = "llama") {
  GgufMetadata metadata;
  metadata.add("general.architecture", "llama");
  add_tokenizer_metadata({"tokenizer.json", as_parsed(tokenizer)},
                         {"tokenizer_config.json", nullptr},
                         {"config.json", {{"model_type", model_type}}}, rows, metadata);
  return WrittenMetadata(metadata);
}
std::string tokenizer_refusal(const Json& tokenizer) {
  return error_of([&] { written_tokenizer(tokenizer, 8); });
}
Json added_token(std::size_t id, const std::string& content, bool special = true) {
  return {{"id", id}, {"content", content}, {"special", special}};
}

}  // namespace

TEST_CASE("YaRN parameters round trip, with the attention factor relative to llama.cpp's") {
  const Json config = small_config("llama", {{"original_max_position_embeddings", 40},
                                             {"rope_parameters",
                                              {{"rope_type", "yarn"},
                                               {"rope_theta", 500.0},
                                               {"factor", 4.0},
                                               {"attention_factor", 2.0},
                                               {"original_max_position_embeddings", 40}}}});
  const WrittenMetadata m = written_model(config);
  CHECK(m.file.integer("llama.rope.scaling.original_context_length") == 40);
  CHECK(*m.file.real("llama.rope.scaling.attn_factor") == doctest::Approx(2 / 1.1386294));
  const Json again = config_again(config);
  CHECK(again["rope_scaling"] == Json{{"rope_type", "yarn"},
                                      {"factor", 4.0},
                                      {"original_max_position_embeddings", 40},
                                      {"attention_factor", 2.0}});
  Json other = config;
  other["rope_parameters"]["attention_factor"] = nullptr;
  other["rope_parameters"]["factor"] = nullptr;  // 160 / 40
  const WrittenMetadata usual = written_model(other);
  CHECK(!usual.file.find("llama.rope.scaling.attn_factor"));
  CHECK(usual.file.real("llama.rope.scaling.factor") == 4);
  other["rope_parameters"]["beta_fast"] = 4;
  CHECK(model_error(other) ==
        "config.json: 'beta_fast': expected 32, as llama.cpp computes llama, got 4");
}

TEST_CASE("Gemma's sliding windows and their rotary base round trip through GGUF") {
  const Json usual = config_again(small_config(
      "gemma3_text", {{"sliding_window", 8}, {"head_dim", 16}, {"query_pre_attn_scalar", 16}}));
  CHECK(usual["sliding_window"] == 8);
  CHECK(usual["rope_theta"] == 1e6);
  CHECK(usual["rope_local_base_freq"] == 1e4);
  CHECK(!usual.contains("layer_types"));

  const Json types = {"sliding_attention", "full_attention", "full_attention", "sliding_attention"};
  const Json listed = config_again(
      small_config("gemma3_text", {{"sliding_window", 8},
                                   {"layer_types", types},
                                   {"rope_parameters",
                                    {{"full_attention", {{"rope_theta", 2e4}}},
                                     {"sliding_attention", {{"rope_theta", 500.0}}}}}}));
  CHECK(listed["layer_types"] == types);
  CHECK(listed["rope_theta"] == 2e4);
  CHECK(listed["rope_local_base_freq"] == 500);
  CHECK(listed["query_pre_attn_scalar"] == 256);

  const Json none =
      config_again(small_config("gemma3_text", {{"layer_types", Json(4, "full_attention")}}));
  CHECK(none["sliding_window"].is_null());
  CHECK(none["layer_types"] == Json(4, "full_attention"));
  const Json gemma2 = config_again(small_config("gemma2", {{"layer_types", types}}));
  CHECK(gemma2["layer_types"] == types);
  CHECK(gemma2["sliding_window"] == 4096);
  CHECK(model_error(small_config("gemma2", {{"layer_types", {"full_attention"}}})) ==
        "config.json: 'layer_types': expected a list of 4 layers");
}

TEST_CASE("missing and unused config keys are treated as in transformers") {
  const Json neox = config_again(small_config("gpt_neox", {{"num_key_value_heads", 2}}));
  CHECK(neox["rotary_pct"] == 0.25);
  CHECK(neox["layer_norm_eps"] == 1e-5);
  CHECK(!written_model(small_config("gpt_neox", {{"num_key_value_heads", 2}}))
             .file.find("gptneox.attention.head_count_kv"));
  CHECK(config_again(small_config("llama"))["rms_norm_eps"] == 1e-6);
  CHECK(config_again(small_config("phi3"))["rms_norm_eps"] == 1e-5);
  CHECK(config_again(small_config("qwen3"))["head_dim"] == 128);
  CHECK(config_again(small_config("mixtral", {{"num_local_experts", 4},
                                              {"num_experts_per_tok", 2}}))["rope_theta"] == 1e6);
  // Llama rotates all channels.
  const WrittenMetadata llama =
      written_model(small_config("llama", {{"partial_rotary_factor", 0.5}}));
  CHECK(llama.file.integer("llama.rope.dimension_count") == 16);
}

TEST_CASE("models that llama.cpp would compute differently are rejected") {
  const Json llama3 = {{"rope_type", "llama3"}, {"factor", 8.0}};
  struct Case {
    const char* model_type;
    Json others;
    std::string error;
  };
  const Case cases[] = {
      {"llama",
       {{"hidden_act", "gelu"}},
       "'hidden_act': expected silu, as llama.cpp computes llama, got 'gelu'"},
      {"gpt_neox",
       {{"hidden_act", "relu"}},
       "'hidden_act': expected gelu, as llama.cpp computes gptneox, got 'relu'"},
      {"gemma2",
       {{"query_pre_attn_scalar", 224}},
       "'query_pre_attn_scalar': expected 256, as llama.cpp computes gemma2, got 224"},
      {"gemma2",
       {{"attn_logit_softcapping", nullptr}},
       "'attn_logit_softcapping': expected a number, as llama.cpp computes gemma2, got null"},
      {"qwen2", {{"head_dim", 24}}, "'head_dim': expected 16, as llama.cpp computes qwen2, got 24"},
      {"qwen3",
       {{"attention_bias", true}},
       "'attention_bias': expected false, as llama.cpp computes qwen3, got true"},
      {"qwen2",
       {{"rope_scaling", llama3}},
       "scaling 'llama3' of the rotary embedding: expected a llama, got qwen2"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.error);
    CHECK(model_error(small_config(c.model_type, c.others)) == "config.json: " + c.error);
  }
  Json other = small_config("llama", {{"rope_scaling", llama3}});
  other["rope_scaling"]["low_freq_factor"] = 2;
  CHECK(model_error(other) ==
        "config.json: 'low_freq_factor': expected 1 as in Llama 3, since GGUF has no such key, "
        "got 2");
  CHECK(model_error(small_config("gpt_neox", {{"hidden_act", "gelu_fast"}})).empty());
  CHECK(model_error(
            small_config("gemma2", {{"num_hidden_layers", 46}, {"query_pre_attn_scalar", 16}}))
            .empty());
}

TEST_CASE("the original context length of Llama 3's RoPE scaling is written") {
  const Json config = small_config(
      "llama",
      {{"rope_scaling",
        {{"rope_type", "llama3"}, {"factor", 8.0}, {"original_max_position_embeddings", 32}}}});
  CHECK(written_model(config).file.integer("llama.rope.scaling.original_context_length") == 32);
}

TEST_CASE("linear RoPE scaling is read without a type, and Gemma windows from optional keys") {
  const auto read = [](const std::string& name, const std::vector<std::string>& others) {
    using namespace gguf_kind;
    GgufBytes file{.metadata = {gguf_entry("general.architecture", text, gguf_text(name))}};
    for (const char* key : {"block_count", "embedding_length", "attention.head_count",
                            "feed_forward_length", "context_length", "vocab_size"})
      file.metadata.push_back(gguf_entry(name + "." + key, u32, gguf_number(4u)));
    for (const std::string& o : others) file.metadata.push_back(o);
    const std::string bytes = file.str();
    return parse_json(gguf_config_json(parse_gguf(as_bytes(bytes), "m.gguf"), "m.gguf"), "it");
  };
  const auto real = [](const char* key, float value) {
    return gguf_entry(key, gguf_kind::f32, gguf_number(value));
  };
  const auto integer = [](const char* key, std::uint32_t value) {
    return gguf_entry(key, gguf_kind::u32, gguf_number(value));
  };
  const Json linear = {{"rope_type", "linear"}, {"factor", 2.5}};
  CHECK(read("llama", {real("llama.rope.scaling.factor", 2.5f)})["rope_scaling"] == linear);
  CHECK(read("llama", {real("llama.rope.scale_linear", 2.5f)})["rope_scaling"] == linear);
  CHECK(!read("llama", {real("llama.rope.scale_linear", 1)}).contains("rope_scaling"));

  CHECK(read("gemma3", {})["layer_types"] == Json(4, "full_attention"));
  const Json other = read("gemma3", {integer("gemma3.attention.sliding_window", 8),
                                     integer("gemma3.attention.sliding_window_pattern", 2),
                                     real("gemma3.rope.freq_base_swa", 500)});
  CHECK(other["layer_types"] ==
        Json({"sliding_attention", "full_attention", "sliding_attention", "full_attention"}));
  CHECK(other["rope_local_base_freq"] == 500);
  CHECK(error_of([&] { read("gemma2", {real("gemma2.rope.freq_base_swa", 500)}); }) ==
        "m.gguf: metadata 'gemma2.rope.freq_base_swa': expected 10000 as in other layers, got 500");
}

TEST_CASE("added tokens beyond the embedding are dropped, and unused ids get unique names") {
  const Warnings warnings;
  const WrittenMetadata m =
      written_tokenizer(small_tokenizer([](Json& t) {
                          t["added_tokens"] = {added_token(3, "[PAD4]"), added_token(9, "<image>")};
                          t["model"]["vocab"]["<image>"] = 9;
                        }),
                        5);
  CHECK(m.file.find("tokenizer.ggml.tokens")->texts() ==
        std::vector<std::string_view>{"a", "b", "c", "[PAD4]", "[PAD4]_"});
  REQUIRE(warnings.all.size() == 1);
  CHECK(warnings.all[0] ==
        "tokenizer.json: 1 added tokens, such as '<image>' with the id 9, are left out: the "
        "embedding has 5 rows");
}

TEST_CASE("tokenizers that llama.cpp cannot represent are rejected") {
  CHECK(tokenizer_refusal(small_tokenizer([](Json& t) { t["model"]["vocab"]["d"] = 8; })) ==
        "tokenizer.json: token 'd': expected an id below 8, the rows of the embedding");
  CHECK(tokenizer_refusal(small_tokenizer([](Json& t) {
          t["added_tokens"] = Json::array({added_token(4, "a")});
        })) == "tokenizer.json: token 'a': expected one id, got 0 and 4");
  CHECK(tokenizer_refusal(
            small_tokenizer([](Json& t) { t["pre_tokenizer"]["add_prefix_space"] = true; })) ==
        "tokenizer.json: pre_tokenizer: 'add_prefix_space': expected false, as in llama.cpp, got "
        "true");
}

TEST_CASE("ignore_merges selects the pre-tokenizer name, llama-bpe or dbrx") {
  const char* regex =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const auto name = [&](bool ignores) {
    const WrittenMetadata m = written_tokenizer(
        small_tokenizer([&](Json& t) {
          t["pre_tokenizer"] = {{"type", "Split"}, {"pattern", {{"Regex", regex}}}};
          t["model"]["ignore_merges"] = ignores;
        }),
        4);
    return std::string(m.file.text("tokenizer.ggml.pre"));
  };
  CHECK(name(true) == "llama-bpe");
  CHECK(name(false) == "dbrx");
}

TEST_CASE("user-defined SentencePiece tokens are written with spaces instead of U+2581") {
  const WrittenMetadata m = written_tokenizer(
      small_tokenizer([](Json& t) {
        t["model"]["byte_fallback"] = true;
        t["model"]["vocab"]["\xe2\x96\x81\xe2\x96\x81"] = 3;
        t["added_tokens"] = Json::array({added_token(3, "\xe2\x96\x81\xe2\x96\x81", false)});
      }),
      4);
  CHECK(m.file.find("tokenizer.ggml.tokens")->texts().back() == "  ");
  CHECK(m.file.find("tokenizer.ggml.scores")->reals().back() == -1000);
}

TEST_CASE("special tokens of Phi-3 have their rstrip flags after a GGUF round trip") {
  const Json phi3 = small_tokenizer([](Json& t) {
    t["added_tokens"] = {added_token(3, "<unk>"), added_token(4, "<s>"), added_token(5, "</s>"),
                         added_token(6, "<|endoftext|>"), added_token(7, "<|user|>")};
  });
  const WrittenMetadata m = written_tokenizer(phi3, 8, "phi3");
  CHECK(m.file.text("general.name") == "Phi-3");
  const Json again = parse_json(gguf_tokenizer_json(m.file, "m.gguf"), "it");
  std::vector<bool> strips;
  for (const Json& t : again["added_tokens"]) strips.push_back(t["rstrip"].get<bool>());
  CHECK(strips == std::vector<bool>{false, false, true, false, true});
  CHECK(!written_tokenizer(phi3, 8).file.find("general.name"));
  CHECK(!written_tokenizer(small_tokenizer(), 8, "phi3").file.find("general.name"));
}

TEST_CASE("special tokens with non-ASCII characters round trip through GGUF") {
  const char* user = "<\xef\xbd\x9cUser\xef\xbd\x9c>";  // of DeepSeek
  const WrittenMetadata m = written_tokenizer(
      small_tokenizer([&](Json& t) { t["added_tokens"] = Json::array({added_token(3, user)}); }),
      4);
  const Json again = parse_json(gguf_tokenizer_json(m.file, "m.gguf"), "it");
  REQUIRE(again["added_tokens"].size() == 1);
  CHECK(again["added_tokens"][0]["content"] == user);
}
