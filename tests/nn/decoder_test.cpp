// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/decoder.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "libsten/core/dispatch/sparsify.h"
#include "libsten/core/sparsify/nm_magnitude.h"
#include "libsten/model/execution/executor.h"
#include "libsten/model/execution/generation.h"
#include "libsten/model/fusion/fused_graph.h"
#include "libsten/model/nn/causal_model.h"
#include "libsten/model/nn/gpt.h"
#include "libsten/model/nn/weights.h"
#include "tests/autograd/pytorch.h"
#include "tests/support/bad_input.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Made by tests/nn/make_decoders.py.
const std::string decoders = STEN_SOURCE_DIR "/tests/nn/decoders/";

std::string config_of(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(decoders + name + "/config.json").rdbuf();
  return text.str();
}

std::vector<std::string> decoder_names() {
  std::vector<std::string> all;
  for (const auto& entry : std::filesystem::directory_iterator(decoders))
    all.push_back(entry.path().filename().string());
  std::ranges::sort(all);
  return all;
}

struct StoredDecoder {
  Checkpoint file, cases;
  CausalModel model;
  NamedValues<Tensor> weights;

  StoredDecoder(const std::string& name, const CausalModelParts& parts)
      : file(Checkpoint::open(decoders + name + "/model.safetensors")),
        cases(Checkpoint::open(decoders + name + "/cases.safetensors")),
        model(causal_model(config_of(name), name, parts)),
        weights(load_weights(model.graph, file, model.unused)) {}

  Tensor at(const std::string& name) const { return cases.load(*cases.find(name)); }
  NamedValues<Tensor> inputs(const std::string& which) const {
    NamedValues<Tensor> in = gpt_inputs(at(which + ".input_ids"));
    if (which == "padded") in.emplace("attention_mask", at("padded.attention_mask"));
    return in;
  }
};

// Sets logits of padding to 0.
Dense without_padding(const Tensor& logits, const Dense& mask) {
  Dense y = logits.as<Dense>();
  const auto seen = mask.values.as<std::int64_t>();
  const std::span<float> values = y.values.mutate<float>();
  const std::size_t n = values.size() / seen.size();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (seen[i / n] == 0) values[i] = 0;
  return y;
}

// Changes a key of a stored config; a null value removes it.
std::string with(const std::string& name, const char* key, const nlohmann::ordered_json& value) {
  auto json = nlohmann::ordered_json::parse(config_of(name));
  if (value.is_null())
    json.erase(key);
  else
    json[key] = value;
  return json.dump();
}
std::string refusal(const std::string& json) {
  return error_of([&] { DecoderConfig::parse(json); });
}

}  // namespace

TEST_CASE("every decoder's logits match those of transformers") {
  for (const std::string& name : decoder_names()) {
    CAPTURE(name);
    const StoredDecoder m(name, {}), masked(name, {.mask = true});
    for (const char* which : {"one", "seven", "long"}) {
      CAPTURE(which);
      const Tensor y = m.model.graph.run<Tensor>(m.weights, m.inputs(which)).at("logits");
      CHECK(far_from(m.at(std::string(which) + ".logits"), y, 1e-5) == "");
    }
    const Tensor y =
        masked.model.graph.run<Tensor>(masked.weights, masked.inputs("padded")).at("logits");
    const Dense mask = m.at("padded.attention_mask").as<Dense>();
    CHECK(far_from(without_padding(m.at("padded.logits"), mask), without_padding(y, mask), 1e-5) ==
          "");
  }
}

TEST_CASE("every decoder's logits match those of transformers when fused by the executor") {
  for (const std::string& name : decoder_names()) {
    CAPTURE(name);
    const StoredDecoder m(name, {.mask = true});
    Executor run(fused_graph(m.model.graph, {}), m.weights);
    for (const char* which : {"one", "seven", "long", "padded"}) {
      CAPTURE(which);
      NamedValues<Tensor> in = m.inputs(which);
      Dense all = in.at("input_ids").as<Dense>();
      std::ranges::fill(all.values.mutate<std::int64_t>(), 1);
      const Dense mask = in.emplace("attention_mask", all).first->second.as<Dense>();
      const Tensor wanted = m.at(std::string(which) + ".logits");
      CHECK(far_from(without_padding(wanted, mask), without_padding(run.run(in).at("logits"), mask),
                     2e-5) == "");
    }
  }
}

TEST_CASE("n:m experts in float32 and bfloat16 run fused, close to the unfused graph") {
  const StoredDecoder m("mixtral", {});
  NamedValues<Tensor> weights = m.weights;
  const NmMagnitude two_of_four{2, 4, 1, {}};
  for (auto& [name, w] : weights)
    if (has(name, ".experts.")) w = sparsify(w, two_of_four, Spec::parse("nm:n=2,m=4"));
  const Tensor wanted = m.model.graph.run<Tensor>(weights, m.inputs("long")).at("logits");
  Executor wide(fused_graph(m.model.graph, {}), weights);
  CHECK(far_from(wanted, wide.run(m.inputs("long")).at("logits"), 2e-5) == "");
  Executor low(fused_graph(m.model.graph, {}), weights,
               {.precision = {{"*.experts", Precision::bf16}}});
  CHECK(far_from(wanted, low.run(m.inputs("long")).at("logits"), 0.03) == "");
  const auto step = std::ranges::find_if(
      low.plan().steps, [](const ExecutionStep& s) { return s.runs == "mixture-of-experts"; });
  REQUIRE(step != low.plan().steps.end());
  CHECK(step->precision == Precision::bf16);
  CHECK(step->why == "the tokens of each expert are gathered, 2 of 4 experts per token");
}

TEST_CASE("every decoder's logits in text generation match those of the whole text") {
  for (const std::string& name : decoder_names()) {
    CAPTURE(name);
    const StoredDecoder m(name, {.last = true});
    Generation generation(m.model.graph, m.weights, 130);
    const Dense ids = m.at("long.input_ids").as<Dense>();
    const auto all = ids.values.as<std::int64_t>();
    // A prompt, a few tokens one by one, and the rest at once.
    generation.run(all.first(20));
    for (std::size_t i = 20; i < 25; ++i) generation.run(all.subspan(i, 1));
    const std::span<const float> y = generation.run(all.subspan(25));
    const Dense logits = m.at("long.logits").as<Dense>();
    const std::span<const float> wanted = logits.values.as<float>().last(y.size());
    float largest = 0, error = 0;
    for (const float x : logits.values.as<float>()) largest = std::max(largest, std::abs(x));
    for (std::size_t i = 0; i < y.size(); ++i) error = std::max(error, std::abs(y[i] - wanted[i]));
    CHECK(error < 2e-5F * largest);
  }
}

TEST_CASE("every decoder has as many parameters as its checkpoint") {
  for (const std::string& name : decoder_names()) {
    CAPTURE(name);
    const StoredDecoder m(name, {});
    Index stored = 0, used = 0;
    for (const CheckpointTensor& t : m.file.tensors()) stored += size_of(t.shape);
    for (const Weight& w : m.model.graph.weights()) used += size_of(w.shape);
    CHECK(used == stored);
    // The original length of LongRoPE.
    CHECK(m.model.positions == (name == "phi3" ? 136 : 160));
  }
}

TEST_CASE("RoPE settings of transformers 4 and 5 configs give the same frequencies") {
  auto json = nlohmann::ordered_json::parse(config_of("llama"));
  const auto rope = json["rope_parameters"];
  json.erase("rope_parameters");
  json["rope_theta"] = rope["rope_theta"];
  json["rope_scaling"] = rope;
  json["rope_scaling"].erase("rope_theta");
  const auto frequencies = [](const std::string& config) {
    return rotary_frequencies(DecoderConfig::parse(config).rotary.at(0), 6, 160).values;
  };
  CHECK(frequencies(json.dump()) == frequencies(config_of("llama")));
  json["rope_scaling"]["type"] = json["rope_scaling"]["rope_type"];
  json["rope_scaling"].erase("rope_type");
  CHECK(frequencies(json.dump()) == frequencies(config_of("llama")));
  json["rope_scaling"] = nullptr;
  CHECK(frequencies(json.dump()) != frequencies(config_of("llama")));
}

TEST_CASE("the original length of LongRoPE can be given outside rope_scaling") {
  auto json = nlohmann::ordered_json::parse(config_of("phi3"));
  json["rope_scaling"] = json["rope_parameters"];
  json.erase("rope_parameters");
  json["rope_scaling"].erase("original_max_position_embeddings");
  const RotaryParameters outside = DecoderConfig::parse(json.dump()).rotary.at(0);
  const RotaryParameters inside = DecoderConfig::parse(config_of("phi3")).rotary.at(0);
  CHECK(outside.original_positions == 136);
  CHECK(rotary_frequencies(outside, 6, 160, 150).values ==
        rotary_frequencies(inside, 6, 160, 150).values);
  CHECK(rotary_frequencies(outside, 6, 160).scale == rotary_frequencies(inside, 6, 160).scale);
  CHECK(rotary_frequencies(outside, 6, 160).scale > 1);
}

TEST_CASE("missing keys of a config have the defaults of its model_type") {
  struct Case {
    std::string name, key, activation;
  };
  for (const Case& c : {Case{"llama", "hidden_act", "silu"},
                        {"gemma2", "hidden_activation", "gelu-tanh"},
                        {"opt", "activation_function", "relu"},
                        {"gpt_neox", "hidden_act", "gelu"}}) {
    CAPTURE(c.name);
    auto json = nlohmann::ordered_json::parse(config_of(c.name));
    json.erase(c.key);
    json.erase("hidden_act");
    CHECK(DecoderConfig::parse(json.dump()).activation == c.activation);
  }
  auto json = nlohmann::ordered_json::parse(config_of("gpt_neox"));
  json["head_dim"] = 16;
  json["rope_theta"] = 5;  // not a key of this model
  json["rope_parameters"].erase("partial_rotary_factor");
  CHECK(DecoderConfig::parse(json.dump()).rotary.at(0).part == 0.25);
  CHECK(DecoderConfig::parse(json.dump()).rotary.at(0).theta == 10000);
}

TEST_CASE("Qwen2-MoE has sliding windows in every other layer below max_window_layers") {
  auto json = nlohmann::ordered_json::parse(config_of("qwen2_moe"));
  json.erase("layer_types");
  json["num_hidden_layers"] = 4;
  json["sliding_window"] = 8;
  json["max_window_layers"] = 3;
  json["use_sliding_window"] = true;
  std::vector<Index> windows;
  for (const auto& layer : DecoderConfig::parse(json.dump()).layers)
    windows.push_back(layer.window);
  CHECK(windows == std::vector<Index>{8, 0, 8, 0});
  json["use_sliding_window"] = false;
  CHECK(DecoderConfig::parse(json.dump()).layers.at(0).window == 0);
}

TEST_CASE("config keys that transformers ignores for a model_type have no effect") {
  const auto parsed = [](const char* name, const char* key, const nlohmann::ordered_json& value) {
    return DecoderConfig::parse(with(name, key, value));
  };
  CHECK(parsed("llama", "partial_rotary_factor", 0.5).rotary.at(0).part == 1);
  CHECK(parsed("llama", "final_logit_softcapping", 5).logit_cap == 0);
  CHECK(parsed("gemma3", "attn_logit_softcapping", 5).score_cap == 0);
  CHECK(parsed("gemma2", "attn_logit_softcapping", 5).score_cap == 5);
  CHECK(parsed("mixtral", "norm_topk_prob", false).experts.normalizes);
  CHECK(parsed("opt", "layer_norm_eps", 0.1).norm_eps == 1e-5);
}

TEST_CASE("a multimodal model's text_config describes the language model") {
  nlohmann::ordered_json json;
  json["model_type"] = "gemma3";
  json["text_config"] = nlohmann::ordered_json::parse(config_of("gemma3"));
  CHECK(is_decoder_config(json.dump()));
  const DecoderConfig c = DecoderConfig::parse(json.dump());
  CHECK(c.architecture->model_type == "gemma3_text");
  CHECK(c.layers.size() == 3);
}

TEST_CASE("LongRoPE switches frequencies beyond the original length") {
  const DecoderConfig c = DecoderConfig::parse(config_of("phi3"));
  const auto first = [&](Index tokens) {
    return rotary_frequencies(c.rotary.at(0), c.head_width, c.positions, tokens).values.at(0);
  };
  CHECK(first(136) == doctest::Approx(1));
  CHECK(first(137) == doctest::Approx(0.5));
}

TEST_CASE("an incomplete or unsupported decoder config is rejected with its key") {
  REQUIRE(held(158, refusal(with("llama", "model_type", "mamba"))
                        .starts_with("config: /model_type: expected one of bert, gpt2, llama, ")));
  CHECK(refusal(with("llama", "hidden_act", "xielu"))
            .starts_with("config: /hidden_act: unknown activation 'xielu'"));
  CHECK(refusal(with("llama", "num_key_value_heads", 3)) ==
        "config: /num_key_value_heads: expected a divisor of num_attention_heads 4, got 3");
  CHECK(refusal(with("llama", "hidden_size", nullptr)) == "config: missing 'hidden_size'");
  CHECK(refusal(with("llama", "rope_parameters", {{"rope_type", "spiral"}}))
            .starts_with("config: /rope_parameters: unknown rope type 'spiral' (expected one of "
                         "default, linear, "));
  CHECK(refusal(with("phi3", "rope_parameters",
                     {{"rope_type", "longrope"}, {"short_factor", {1}}, {"long_factor", {1}}}))
            .starts_with("config: /rope_parameters: expected 3 factors of frequencies, got 1"));
  CHECK(
      refusal(with("llama", "rope_parameters",
                   {{"rope_type", "llama3"},
                    {"factor", 8},
                    {"low_freq_factor", 4},
                    {"original_max_position_embeddings", 64}})) ==
      "config: /rope_parameters/low_freq_factor: expected low_freq_factor < high_freq_factor, got "
      "4 and 4");
  CHECK(refusal(with("llama", "rope_scaling", {{"rope_type", "yarn"}, {"factor", 2}})) ==
        "config: /rope_scaling: expected one of rope_scaling and rope_parameters, got both");
  CHECK(refusal(with("gemma3", "layer_types", {"full_attention"})) ==
        "config: /layer_types: expected 3 layers, got 1");
  CHECK(refusal(with("mixtral", "num_experts_per_tok", 5)) ==
        "config: /num_experts_per_tok: expected at most num_local_experts 4, got 5");
  CHECK(refusal(with("mixtral", "num_local_experts", 2000000000)) ==
        "config: /num_local_experts: expected at most 16384, got 2000000000");
  CHECK(refusal(with("qwen2_moe", "moe_intermediate_size", nullptr)) ==
        "config: missing 'moe_intermediate_size'");
}

TEST_CASE("a mismatched tensor of stacked experts is reported once") {
  const Checkpoint file = Checkpoint::open(decoders + "qwen3_moe-stacked/model.safetensors");
  const CausalModel m =
      causal_model(with("qwen3_moe-stacked", "moe_intermediate_size", 12), "config", {});
  const std::string text = error_of([&] { load_weights(m.graph, file, m.unused); });
  CHECK(has(text,
            "4 tensors do not fit the model: model.layers.0.mlp.experts.gate_up_proj is "
            "[3, 32, 24], expected [3, 24, 24]; model.layers.0.mlp.experts.down_proj is "));
}
