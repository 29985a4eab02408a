// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/config_json.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "libsten/core/base/error.h"
#include "libsten/core/base/json.h"
#include "libsten/core/base/rotary_scaling.h"
#include "libsten/core/base/text.h"
#include "libsten/files/gguf/architectures.h"
#include "libsten/files/gguf/json_member.h"

namespace sten {
namespace {

using Json = nlohmann::ordered_json;

// The shortest decimal number that is the same float32.
double shortest(double value) {
  double parsed = value;
  parse_number(fmt::format("{}", static_cast<float>(value)), parsed);
  return parsed;
}

// The values of a small float32 tensor; empty if the file lacks it.
std::vector<float> values_of(const GgufFile& file, std::string_view name) {
  const GgufTensor* t = file.tensor(name);
  if (!t || t->type->name != "F32") return {};
  std::vector<float> values((t->end - t->begin) / sizeof(float));
  if (!values.empty())
    std::memcpy(values.data(), file.bytes.data() + t->begin, values.size() * sizeof(float));
  return values;
}

Json shortest_list(const std::vector<float>& values) {
  Json list = Json::array();
  for (const float v : values) list.push_back(shortest(v));
  return list;
}

class ConfigWriter {
 public:
  ConfigWriter(const GgufFile& file, const std::string& name) : file_(file), name_(name) {}

  std::string text(std::string_view dtype) {
    const GgufArchitecture* known = architecture();
    config_["architectures"] = Json::array({std::string(known->model_class)});
    config_["model_type"] = std::string(known->model_type);
    for (const GgufConfigKey& k : gguf_config_keys())
      if (known->has_experts() || !k.of_experts) add(k);
    complete_sizes();
    if (known->has_experts()) add_experts(*known);
    config_[std::string(known->activation_key)] = std::string(known->activation);
    config_["tie_word_embeddings"] = !file_.tensor("output.weight");
    add_tokens();
    add_rotary();
    add_special(*known);
    config_["dtype"] = std::string(dtype);
    return dump_json(config_, 2) + "\n";
  }

 private:
  std::string key(std::string_view suffix) const {
    return fmt::format("{}.{}", file_.architecture(), suffix);
  }

  const GgufArchitecture* architecture() const {
    const std::string count = key("expert_count");
    const bool has_experts = file_.integer(count).value_or(0) > 0;
    if (const GgufArchitecture* a = gguf_architecture(file_.architecture(), has_experts)) return a;
    if (!gguf_architecture(file_.architecture(), !has_experts))
      fail("{}: unknown architecture {} (its config.json is not known)", name_,
           quote(file_.architecture()));
    if (!has_experts) fail("{}: missing integer {} > 0 in the metadata", name_, quote(count));
    fail("{}: metadata {}: expected 0 for the architecture {}", name_, quote(count),
         file_.architecture());
  }

  void add(const GgufConfigKey& k) {
    const GgufValue* value = file_.find(key(k.suffix));
    if (!value) return;
    const auto number = value->real();
    const auto integer = value->integer();
    if (k.is_real ? !number : !integer)
      fail("{}: metadata {}: expected {}", name_, quote(key(k.suffix)),
           k.is_real ? "a number" : "an integer");
    if (k.is_real)
      config_[std::string(k.config)] = shortest(*number);
    else
      config_[std::string(k.config)] = *integer;
  }

  std::int64_t size(const char* config) const { return config_.at(config).get<std::int64_t>(); }

  void require(const char* config) const {
    if (!config_.contains(config))
      fail("{}: the metadata lack {} of config.json", name_, quote(config));
    if (size(config) <= 0) fail("{}: metadata: expected {} > 0", name_, config);
  }

  void complete_sizes() {
    if (const GgufTensor* t = file_.tensor("token_embd.weight"); t && t->shape.size() == 2)
      config_["vocab_size"] = t->shape[0];
    for (const char* needed : {"vocab_size", "hidden_size", "num_hidden_layers",
                               "intermediate_size", "num_attention_heads"})
      require(needed);
    if (!config_.contains("num_key_value_heads") && !is("gptneox"))
      config_["num_key_value_heads"] = size("num_attention_heads");
    if (is("gptneox")) config_.erase("num_key_value_heads");
    // The same text with and without the key.
    if (is("llama") || is("qwen2moe") || is("qwen3") || is("qwen3moe")) {
      const std::int64_t given = config_.contains("head_dim")
                                     ? size("head_dim")
                                     : size("hidden_size") / size("num_attention_heads");
      config_.erase("head_dim");
      config_["head_dim"] = given;
    }
  }

  // The first files of Qwen 2 lack sizes that their tensors have.
  void add_experts(const GgufArchitecture& known) {
    config_[std::string(known.experts_key)] = *file_.integer(key("expert_count"));
    require("num_experts_per_tok");
    if (is("llama")) return;
    for (const auto& [config, tensor, axis] :
         {std::tuple("moe_intermediate_size", "blk.0.ffn_gate_exps.weight", 1U),
          std::tuple("shared_expert_intermediate_size", "blk.0.ffn_gate_shexp.weight", 0U)}) {
      const GgufTensor* t = file_.tensor(tensor);
      if (t && t->shape.size() == axis + 2 && !config_.contains(config))
        config_[config] = t->shape[axis];
    }
    require("moe_intermediate_size");
    if (is("qwen2moe")) require("shared_expert_intermediate_size");
    config_["norm_topk_prob"] = known.normalizes;
    config_["decoder_sparse_step"] = 1;
    config_["mlp_only_layers"] = Json::array();
  }

  bool is(std::string_view architecture) const { return file_.architecture() == architecture; }

  void add_tokens() {
    for (const auto& [gguf, config] :
         {std::pair("bos", "bos_token_id"), std::pair("eos", "eos_token_id"),
          std::pair("padding", "pad_token_id")}) {
      const auto id = file_.integer(fmt::format("tokenizer.ggml.{}_token_id", gguf));
      config_[config] = id ? Json(*id) : Json();
    }
  }

  // Without a type, llama.cpp scales linearly; the first files have another key of the factor.
  void add_scaling() {
    const std::string type_key = key("rope.scaling.type");
    const std::string_view type = file_.find(type_key) ? file_.text(type_key) : "linear";
    const auto former = file_.real(key("rope.scale_linear"));
    const double factor =
        shortest(file_.real(key("rope.scaling.factor")).value_or(former.value_or(0)));
    const bool is_scaled = factor != 0 && factor != 1;
    if (type == "linear" && is_scaled) {
      config_["rope_scaling"] = {{"rope_type", "linear"}, {"factor", factor}};
    } else if (type == "yarn" && factor != 0) {
      config_["rope_scaling"] = {{"rope_type", "yarn"}, {"factor", factor}};
      if (config_.contains("original_max_position_embeddings"))
        config_["rope_scaling"]["original_max_position_embeddings"] =
            config_["original_max_position_embeddings"];
      if (const auto scale = file_.real(key("rope.scaling.attn_factor")); scale && *scale != 1)
        config_["rope_scaling"]["attention_factor"] =
            shortest(*scale * yarn_attention_factor(factor));
    } else if (type != "linear" && type != "yarn" && type != "none" && type != "longrope") {
      fail("{}: metadata {}: unknown scaling {}", name_, quote(type_key), quote(type));
    }
  }

  void add_rotary() {
    if (!config_.contains("rope_theta")) config_["rope_theta"] = 10000.0;
    add_scaling();
    const std::vector<float> freqs = values_of(file_, "rope_freqs.weight");
    if (!freqs.empty()) add_llama3(freqs);
    const std::vector<float> longs = values_of(file_, "rope_factors_long.weight"),
                             shorts = values_of(file_, "rope_factors_short.weight");
    if (!longs.empty() && !shorts.empty())
      config_["rope_scaling"] = {{"rope_type", "longrope"},
                                 {"long_factor", shortest_list(longs)},
                                 {"short_factor", shortest_list(shorts)}};
    if (!is("phi3")) config_.erase("original_max_position_embeddings");
  }

  // Llama 3 scales each frequency by a factor, of which a GGUF file has only the values. They are
  // the published parameters, except for the factor, or an error.
  void add_llama3(const std::vector<float>& freqs) {
    Llama3Scaling scaling;
    scaling.factor = shortest(*std::ranges::max_element(freqs));
    const std::int64_t positions = config_.contains("original_max_position_embeddings")
                                       ? size("original_max_position_embeddings")
                                       : static_cast<std::int64_t>(scaling.original_positions);
    scaling.original_positions = static_cast<double>(positions);
    const double base = config_["rope_theta"].get<double>();
    for (std::size_t i = 0; i < freqs.size(); ++i) {
      const double frequency =
          std::pow(base, -static_cast<double>(i) / static_cast<double>(freqs.size()));
      const double expected = 1 / scaling.multiplier(frequency);
      if (!(std::fabs(expected - static_cast<double>(freqs[i])) <= 1e-3 * expected))
        fail("{}: 'rope_freqs.weight': element {}: expected {:.6g} as in Llama 3, got {:.6g}",
             name_, i, expected, freqs[i]);
    }
    config_["rope_scaling"] = {{"rope_type", "llama3"},
                               {"factor", scaling.factor},
                               {"low_freq_factor", scaling.low_freq_factor},
                               {"high_freq_factor", scaling.high_freq_factor},
                               {"original_max_position_embeddings", positions}};
  }

  void add_layer_types(const std::vector<bool>& slides) {
    Json types = Json::array();
    for (const bool s : slides) types.push_back(s ? "sliding_attention" : "full_attention");
    config_["layer_types"] = std::move(types);
  }

  // Of Gemma: which layers have a sliding window, and the base of their rotary embedding.
  void add_windows(const GgufArchitecture& known) {
    const std::int64_t layers = size("num_hidden_layers");
    if (layers > gguf_most_layers)
      fail("{}: metadata {}: expected at most {}, got {}", name_, quote(key("block_count")),
           gguf_most_layers, layers);
    const bool is_gemma3 = known.name == "gemma3";
    const auto count = static_cast<std::size_t>(layers);
    const double base = config_["rope_theta"].get<double>();
    const double local =
        shortest(file_.real(key("rope.freq_base_swa")).value_or(is_gemma3 ? 10000 : base));
    if (is_gemma3)
      config_["rope_local_base_freq"] = local;
    else if (local != base)
      fail("{}: metadata {}: expected {} as in other layers, got {}", name_,
           quote(key("rope.freq_base_swa")), base, local);
    if (is_gemma3 && json_member(config_, "sliding_window").is_null()) {
      config_["sliding_window"] = nullptr;
      add_layer_types(std::vector<bool>(count));
    } else if (const GgufValue* pattern = file_.find(key("attention.sliding_window_pattern"))) {
      add_layer_types(sliding_layers(*pattern, count));
    }
  }

  // A truth value per layer, or n for a window of all layers but each nth one.
  std::vector<bool> sliding_layers(const GgufValue& pattern, std::size_t count) const {
    std::vector<bool> slides;
    const auto period = pattern.integer();
    const std::vector<double> listed = pattern.reals();
    if (!(period && *period >= 0) && listed.size() != count)
      fail("{}: metadata {}: expected a period or {} truth values", name_,
           quote(key("attention.sliding_window_pattern")), count);
    for (std::size_t i = 0; i < count; ++i)
      slides.push_back(period ? *period == 0 || (static_cast<std::int64_t>(i) + 1) % *period != 0
                              : listed[i] != 0);
    return slides;
  }

  void add_special(const GgufArchitecture& known) {
    const std::string_view architecture = known.name;
    const std::int64_t heads = size("num_attention_heads"), hidden = size("hidden_size"),
                       layers = size("num_hidden_layers");
    const std::int64_t head =
        config_.contains("head_dim") ? size("head_dim") : std::max<std::int64_t>(1, hidden / heads);
    const auto rotary = file_.integer(key("rope.dimension_count"));
    const bool has_bias = file_.tensor("blk.0.attn_q.bias");
    const bool is_llama = architecture == "llama";
    if (is_llama || architecture.starts_with("qwen3") || architecture == "olmo2")
      config_["attention_bias"] = has_bias;
    if (architecture == "qwen2moe") config_["qkv_bias"] = has_bias;
    if (is_llama && !known.has_experts())
      config_["mlp_bias"] = file_.tensor("blk.0.ffn_up.bias") != nullptr;
    if (is_llama || architecture.starts_with("qwen"))
      config_.erase("sliding_window");  // transformers applies it to other layers
    if (config_.contains("sliding_window") && config_["sliding_window"] == 0)
      config_["sliding_window"] = nullptr;  // as in transformers, which takes 0 for a window
    if (architecture == "olmo2" && file_.find(key("attention.sliding_window")))
      fail("{}: OLMo 3, an olmo2 with sliding_window, is not supported", name_);
    if (known.window_period > 0) {
      config_["query_pre_attn_scalar"] = known.query_scalar(layers, hidden / heads, head);
      add_windows(known);
    }
    if (architecture == "phi3" && rotary)
      config_["partial_rotary_factor"] = static_cast<double>(*rotary) / static_cast<double>(head);
    if (architecture == "gptneox") {
      if (rotary) config_["rotary_pct"] = static_cast<double>(*rotary) / static_cast<double>(head);
      config_["use_parallel_residual"] = file_.boolean(key("use_parallel_residual")).value_or(true);
      config_["tie_word_embeddings"] = false;
      config_["rotary_emb_base"] = config_["rope_theta"];
      config_.erase("rope_theta");
    }
  }

  const GgufFile& file_;
  const std::string& name_;
  Json config_;
};

}  // namespace

std::string gguf_config_json(const GgufFile& file, const std::string& file_name,
                             std::string_view dtype) {
  const std::string name = printable(file_name);
  return ConfigWriter(file, name).text(dtype);
}

}  // namespace sten
