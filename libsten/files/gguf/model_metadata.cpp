// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/model_metadata.h"

#include <algorithm>
#include <cmath>

#include "libsten/core/base/error.h"
#include "libsten/core/base/rotary_scaling.h"
#include "libsten/core/base/text.h"
#include "libsten/files/gguf/model_checks.h"
#include "libsten/files/gguf/model_config.h"

namespace sten {
namespace {

// Keys with rules of their own.
bool is_special(std::string_view config, const GgufArchitecture& known) {
  return config == "rope_theta" || config == "head_dim" || config == "rms_norm_eps" ||
         config == "layer_norm_eps" || config == "original_max_position_embeddings" ||
         (config == "num_key_value_heads" && known.name == "gptneox") ||
         (config == "sliding_window" && known.window_period > 0);
}

class ModelWriter {
 public:
  ModelWriter(const GgufModelConfig& config, GgufMetadata& to)
      : c_(config), known_(config.architecture()), to_(to) {}

  void run() {
    for (const char* key : {"vocab_size", "max_position_embeddings", "hidden_size",
                            "num_hidden_layers", "intermediate_size", "num_attention_heads"})
      c_.needed(key);
    check_gguf_model(c_);
    to_.add("general.architecture", known_.name);
    to_.add("general.type", "model");
    for (const GgufConfigKey& k : gguf_config_keys()) add_key(k);
    const bool is_neox = known_.name == "gptneox";
    if (c_.size("num_key_value_heads") == 0 && !is_neox)
      add("attention.head_count_kv", c_.size("num_attention_heads"));
    add(is_neox ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
        static_cast<float>(c_.norm_eps()));
    add("rope.freq_base", static_cast<float>(c_.rope_theta()));
    add("attention.key_length", c_.head_dim());
    add("attention.value_length", c_.head_dim());
    add("rope.dimension_count", static_cast<std::uint32_t>(c_.rotary_part() * c_.head_dim()));
    add_scaling();
    if (known_.window_period > 0) add_windows();
    if (known_.has_experts()) add("expert_count", c_.experts());
    if (is_neox) add("use_parallel_residual", c_.flag("use_parallel_residual", true));
  }

 private:
  template <class T>
  void add(std::string_view suffix, const T& value) {
    to_.add(fmt::format("{}.{}", known_.name, suffix), value);
  }

  void add_key(const GgufConfigKey& k) {
    if (is_special(k.config, known_) || json_member(c_.json(), k.config).is_null()) return;
    if (k.of_experts && !known_.has_experts()) return;
    if (k.is_real)
      add(k.suffix, static_cast<float>(c_.number(c_.json(), k.config, 0)));
    else
      add(k.suffix, c_.size(k.config));
  }

  void add_scaling() {
    const std::string type = c_.rotary_type();
    const bool is_scaled = type == "linear" || type == "yarn";
    if (!is_scaled && type != "default" && type != "llama3")
      fail("{}: scaling {} of the rotary embedding: not supported in GGUF", c_.name(), quote(type));
    const std::uint32_t original = c_.original_positions();
    // The usual one of Llama 3 is not written by convert_hf_to_gguf.
    const bool is_other = type == "yarn" || known_.name == "phi3" ||
                          (type == "llama3" && original != Llama3Scaling{}.original_positions);
    if (is_other && original > 0) add("rope.scaling.original_context_length", original);
    if (!is_scaled) return;
    add("rope.scaling.type", type);
    const double usual = type == "yarn" && original > 0
                             ? static_cast<double>(c_.size("max_position_embeddings")) / original
                             : 1;
    const double factor = c_.number(c_.rotary(), "factor", usual);
    add("rope.scaling.factor", static_cast<float>(factor));
    if (type == "yarn") add_yarn_scale(factor);
  }

  // llama.cpp multiplies its own scale of cosines and sines by another one.
  void add_yarn_scale(double factor) {
    const auto given = [&](const char* key) { return c_.number(c_.rotary(), key, 0); };
    const double own = yarn_attention_factor(factor);
    double scale = given("attention_factor");
    if (!(scale > 0)) {
      const double one = given("mscale"), all = given("mscale_all_dim");
      scale = one > 0 && all > 0 ? yarn_attention_factor(factor, one, all) : own;
    }
    if (scale != own) add("rope.scaling.attn_factor", static_cast<float>(scale / own));
  }

  // Without a key, llama.cpp has the usual windows of Gemma 2, and none of Gemma 3.
  void add_windows() {
    const std::vector<bool> slides = c_.sliding_layers();
    const bool is_gemma3 = known_.name == "gemma3";
    if (is_gemma3 && std::ranges::count(slides, true) == 0) return;
    if (is_gemma3) add("rope.freq_base_swa", static_cast<float>(c_.local_rope_theta()));
    if (c_.window() > 0) add("attention.sliding_window", c_.window());
    if (slides != c_.sliding_layers(known_.window_period))
      add("attention.sliding_window_pattern", slides);
  }

  const GgufModelConfig& c_;
  const GgufArchitecture& known_;
  GgufMetadata& to_;
};

}  // namespace

GgufModel add_model_metadata(const NamedJson& config, GgufMetadata& to) {
  const GgufModelConfig c(config);
  ModelWriter(c, to).run();
  const GgufArchitecture& known = c.architecture();
  const Index heads = c.size("num_attention_heads"),
              keys = known.name == "gptneox" ? 0 : c.size("num_key_value_heads");
  return {.architecture = known.name,
          .heads = heads,
          .key_heads = keys > 0 ? keys : heads,
          .experts = known.has_experts() ? c.experts() : 0,
          .head = known.head,
          .ties_embeddings = c.flag("tie_word_embeddings", false)};
}

std::vector<float> llama3_factors(const NamedJson& config) {
  const GgufModelConfig c(config);
  if (c.rotary_type() != "llama3") return {};
  const auto given = [&](const char* key, double otherwise) {
    return c.number(c.rotary(), key, otherwise);
  };
  Llama3Scaling scaling;
  scaling.factor = given("factor", scaling.factor);
  scaling.low_freq_factor = given("low_freq_factor", scaling.low_freq_factor);
  scaling.high_freq_factor = given("high_freq_factor", scaling.high_freq_factor);
  if (const std::uint32_t original = c.original_positions()) scaling.original_positions = original;
  std::vector<float> factors(c.head_dim() / 2);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double position = static_cast<double>(i) / static_cast<double>(factors.size());
    factors[i] = static_cast<float>(1 / scaling.multiplier(std::pow(c.rope_theta(), -position)));
  }
  return factors;
}

}  // namespace sten
