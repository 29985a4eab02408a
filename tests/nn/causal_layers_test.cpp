// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/causal_layers.h"

#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "libsten/core/base/json.h"
#include "libsten/model/nn/decoder.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

using ConfigJson = nlohmann::ordered_json;

// A config of tests/nn/decoders with changed keys; a null value removes one.
std::string changed(const std::string& name, const ConfigJson& keys) {
  std::stringstream text;
  text << std::ifstream(STEN_SOURCE_DIR "/tests/nn/decoders/" + name + "/config.json").rdbuf();
  ConfigJson c = ConfigJson::parse(text.str());
  for (const auto& [key, value] : keys.items()) {
    c.erase(key);
    if (!value.is_null()) c[key] = value;
  }
  return c.dump();
}

// The reduced config, whose layers are those of the original that are kept.
ConfigJson reduced(const std::string& config, const std::vector<Index>& kept) {
  const std::string after = reduced_config(config, "config", kept);
  const std::vector<DecoderConfig::Layer> all = DecoderConfig::parse(config).layers;
  std::vector<DecoderConfig::Layer> wanted;
  for (const Index i : kept) wanted.push_back(all[i]);
  CHECK(DecoderConfig::parse(after).layers == wanted);
  return ConfigJson::parse(after);
}

}  // namespace

TEST_CASE("causal_layers finds the weight names of layers, routers and experts") {
  const CausalLayers llama = causal_layers(changed("llama", {}), "config");
  CHECK(llama.name == "model.layers");
  CHECK(llama.count == 2);
  CHECK_FALSE(llama.mixture);
  CHECK(causal_layers(changed("opt", {}), "config").name == "model.decoder.layers");
  const CausalLayers mixtral = causal_layers(changed("mixtral", {}), "config");
  REQUIRE(mixtral.mixture);
  CHECK(mixtral.mixture->router == "block_sparse_moe.gate");
  CHECK(mixtral.mixture->experts == "block_sparse_moe.experts");
  CHECK(mixtral.mixture->count == 4);
  CHECK(mixtral.mixture->top_k == 2);
}

TEST_CASE("a config reduced to fewer layers keeps their sliding windows") {
  CHECK(reduced(changed("llama", {}), {1})["num_hidden_layers"] == 1);
  CHECK(reduced(changed("gemma2", {}), {1})["layer_types"] == ConfigJson{"full_attention"});
  const std::string qwen = changed(
      "qwen2", {{"layer_types", nullptr}, {"num_hidden_layers", 5}, {"max_window_layers", 3}});
  CHECK(reduced(qwen, {0, 2, 4})["max_window_layers"] == 2);
  CHECK(reduced(qwen, {3, 4})["max_window_layers"] == 0);
  CHECK(reduced(changed("qwen2", {{"max_window_layers", 28}}), {1})["max_window_layers"] == 28);
}

TEST_CASE("layer_types is written if the windows of the kept layers are not periodic") {
  const std::string gemma2 =
      changed("gemma2", {{"layer_types", nullptr}, {"num_hidden_layers", 4}});
  CHECK_FALSE(reduced(gemma2, {0, 1}).contains("layer_types"));
  CHECK(reduced(gemma2, {0, 2, 3})["layer_types"] ==
        ConfigJson{"sliding_attention", "sliding_attention", "full_attention"});
  const std::string gemma3 =
      changed("gemma3",
              {{"layer_types", nullptr}, {"num_hidden_layers", 6}, {"sliding_window_pattern", 2}});
  const ConfigJson listed = reduced(gemma3, {0, 3, 5});
  CHECK(listed["layer_types"] ==
        ConfigJson{"sliding_attention", "full_attention", "full_attention"});
  CHECK_FALSE(listed.contains("sliding_window_pattern"));
}

TEST_CASE("a config reduced to fewer layers keeps which of them have experts") {
  const ConfigJson listed = reduced(changed("qwen2_moe", {}), {1, 2});
  CHECK(listed["mlp_only_layers"] == ConfigJson::array({0}));
  // Layers 1 and 3 have experts.
  const std::string steps =
      changed("qwen3_moe", {{"num_hidden_layers", 4}, {"decoder_sparse_step", 2}});
  const ConfigJson after = reduced(steps, {1, 2, 3});
  CHECK(after["decoder_sparse_step"] == 1);
  CHECK(after["mlp_only_layers"] == ConfigJson::array({1}));
}

TEST_CASE("a reduced expert count uses the config's key, or the default of transformers") {
  const std::vector<Index> all{0, 1};
  const auto experts = [&](const std::string& config, const char* key) {
    const ConfigJson after = ConfigJson::parse(reduced_config(config, "config", all, 3));
    CHECK(DecoderConfig::parse(after.dump()).experts.count == 3);
    return after.contains(key) && after[key] == 3;
  };
  CHECK(experts(changed("mixtral", {}), "num_local_experts"));
  CHECK(experts(changed("mixtral", {{"num_local_experts", nullptr}}), "num_local_experts"));
  CHECK(experts(changed("qwen3_moe", {}), "num_local_experts"));
  CHECK(experts(changed("qwen3_moe", {{"num_local_experts", nullptr}}), "num_experts"));
}

TEST_CASE("GPT-2 layers are found as transformer.h and reduced by n_layer") {
  const std::string config =
      R"({"model_type": "gpt2", "vocab_size": 9, "n_positions": 8, "n_embd": 4, "n_layer": 3,
          "n_head": 2})";
  const CausalLayers layers = causal_layers(config, "config");
  CHECK(layers.name == "transformer.h");
  CHECK(layers.count == 3);
  const std::vector<Index> kept{0, 2};
  CHECK(ConfigJson::parse(reduced_config(config, "config", kept))["n_layer"] == 2);
}

TEST_CASE("the text_config of a multimodal model is reduced") {
  ConfigJson json;
  json["model_type"] = "gemma3";
  json["text_config"] = ConfigJson::parse(changed("gemma3", {}));
  CHECK(reduced(json.dump(), {0, 2})["text_config"]["num_hidden_layers"] == 2);
}
