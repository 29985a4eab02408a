// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/model_metadata.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/gguf/architectures.h"
#include "libsten/files/gguf/json_member.h"

namespace sten {
namespace {

using Json = nlohmann::ordered_json;

class ModelReader {
 public:
  explicit ModelReader(const NamedJson& config) : name_(config.name), config_(config.json) {
    const Json& type = json_member(config_, "model_type");
    if (!type.is_string()) fail("{}: missing 'model_type'", name_);
    known_ = gguf_architecture_of(type.get_ref<const std::string&>());
    if (!known_)
      fail("{}: model_type {} cannot be written as GGUF", name_, quote(type.get<std::string>()));
    // transformers 5 has the rotary embedding in an object.
    const Json& parameters = json_member(config_, "rope_parameters");
    rotary_ = parameters.is_object() ? parameters : json_member(config_, "rope_scaling");
    if (const Json& full = json_member(parameters, "full_attention"); full.is_object())
      rotary_ = full;
  }

  const GgufArchitecture& architecture() const { return *known_; }

  // A positive integer; 0 if it is missing.
  std::uint32_t size(const char* key) const {
    const Json& value = json_member(config_, key);
    if (value.is_null()) return 0;
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= 0x80000000u)
      fail("{}: {}: expected an integer from 0 to 2^31 - 1", name_, quote(key));
    return value.get<std::uint32_t>();
  }
  std::uint32_t needed(const char* key) const {
    const std::uint32_t value = size(key);
    if (value == 0) fail("{}: missing {}", name_, quote(key));
    return value;
  }
  // The experts of each layer; transformers 5 writes the key of Mixtral for Qwen, too.
  std::uint32_t experts() const {
    const std::uint32_t given = size("num_experts");
    return given ? given : size("num_local_experts");
  }
  double number(const Json& object, const char* key, double otherwise) const {
    const Json& value = json_member(object, key);
    if (value.is_null()) return otherwise;
    if (!value.is_number()) fail("{}: {}: expected a number", name_, quote(key));
    return value.get<double>();
  }
  double rope_theta() const {
    return number(rotary_, "rope_theta",
                  number(config_, "rope_theta", number(config_, "rotary_emb_base", 10000)));
  }
  std::uint32_t head_dim() const {
    const std::uint32_t given = size("head_dim");
    return given ? given : needed("hidden_size") / needed("num_attention_heads");
  }
  const Json& rotary() const { return rotary_; }
  std::string rotary_type() const {
    const Json& type = json_member(rotary_, "rope_type");
    const Json& former = json_member(rotary_, "type");
    return type.is_string()     ? type.get<std::string>()
           : former.is_string() ? former.get<std::string>()
                                : "default";
  }

  void add_to(GgufMetadata& to) const {
    if (!known_->has_experts() && experts() > 0)
      fail("{}: experts of a {} are not supported in GGUF", name_, known_->model_type);
    for (const char* key : {"vocab_size", "max_position_embeddings", "hidden_size",
                            "num_hidden_layers", "intermediate_size", "num_attention_heads"})
      needed(key);
    to.add("general.architecture", known_->name);
    to.add("general.type", "model");
    for (const GgufConfigKey& k : gguf_config_keys()) {
      const Json& value = json_member(config_, k.config);
      const std::string_view config = k.config;
      if (value.is_null() || config == "rope_theta" || config == "head_dim") continue;
      if (k.of_experts && !known_->has_experts()) continue;
      if (k.is_real)
        to.add(key(k.suffix), static_cast<float>(number(config_, k.config, 0)));
      else
        to.add(key(k.suffix), size(k.config));
    }
    if (json_member(config_, "num_key_value_heads").is_null() && known_->name != "gptneox")
      to.add(key("attention.head_count_kv"), size("num_attention_heads"));
    to.add(key("rope.freq_base"), static_cast<float>(rope_theta()));
    to.add(key("attention.key_length"), head_dim());
    to.add(key("attention.value_length"), head_dim());
    add_rotary_size(to);
    add_scaling(to);
    if (known_->has_experts()) add_experts(to);
    if (known_->name == "gptneox") {
      const Json& parallel = json_member(config_, "use_parallel_residual");
      to.add(key("use_parallel_residual"), !parallel.is_boolean() || parallel.get<bool>());
    }
  }

 private:
  std::string key(std::string_view suffix) const {
    return fmt::format("{}.{}", known_->name, suffix);
  }

  // llama.cpp has experts in every layer, and its own use of their weights.
  void add_experts(GgufMetadata& to) const {
    if (experts() == 0) fail("{}: missing {}", name_, quote(known_->experts_key));
    needed("num_experts_per_tok");
    to.add(key("expert_count"), experts());
    if (known_->name == "llama") return;  // no other keys in config.json
    needed("moe_intermediate_size");
    if (known_->name == "qwen2moe") needed("shared_expert_intermediate_size");
    const Json& normalizes = json_member(config_, "norm_topk_prob");
    if ((normalizes.is_boolean() && normalizes.get<bool>()) != known_->normalizes)
      fail("{}: 'norm_topk_prob': expected {}, as llama.cpp computes {}", name_, known_->normalizes,
           known_->name);
    const Json& step = json_member(config_, "decoder_sparse_step");
    const Json& dense = json_member(config_, "mlp_only_layers");
    if ((!step.is_null() && step != 1) || (!dense.is_null() && !dense.empty()))
      fail("{}: expected experts in every layer, as llama.cpp computes {}", name_, known_->name);
  }

  void add_rotary_size(GgufMetadata& to) const {
    const double share =
        number(rotary_, "partial_rotary_factor",
               number(config_, "partial_rotary_factor", number(config_, "rotary_pct", 1)));
    if (!(share > 0 && share <= 1)) fail("{}: expected a share in (0, 1] as rotary_pct", name_);
    to.add(key("rope.dimension_count"), static_cast<std::uint32_t>(share * head_dim()));
  }

  void add_scaling(GgufMetadata& to) const {
    const std::string type = rotary_type();
    if (type == "default" || type == "llama3") return;
    if (type != "linear" && type != "yarn")
      fail("{}: scaling {} of the rotary embedding: not supported in GGUF", name_, quote(type));
    to.add(key("rope.scaling.type"), type);
    to.add(key("rope.scaling.factor"), static_cast<float>(number(rotary_, "factor", 1)));
    const double context = number(rotary_, "original_max_position_embeddings", 0);
    if (context > 0)
      to.add(key("rope.scaling.original_context_length"), static_cast<std::uint32_t>(context));
  }

  const std::string& name_;
  const Json& config_;
  Json rotary_;
  const GgufArchitecture* known_ = nullptr;
};

}  // namespace

GgufModel add_model_metadata(const NamedJson& config, GgufMetadata& to) {
  const ModelReader model(config);
  model.add_to(to);
  const Index heads = model.size("num_attention_heads"), keys = model.size("num_key_value_heads");
  return {model.architecture().name, heads, keys > 0 ? keys : heads,
          model.architecture().has_experts() ? model.experts() : 0};
}

std::vector<float> llama3_factors(const NamedJson& config) {
  const ModelReader model(config);
  if (model.rotary_type() != "llama3") return {};
  const auto given = [&](const char* key, double otherwise) {
    return model.number(model.rotary(), key, otherwise);
  };
  const double factor = given("factor", 8), low = given("low_freq_factor", 1),
               high = given("high_freq_factor", 4),
               context = given("original_max_position_embeddings", 8192), base = model.rope_theta();
  std::vector<float> factors(model.head_dim() / 2);
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const double position = static_cast<double>(i) / static_cast<double>(factors.size());
    const double wavelength = 2 * std::numbers::pi * std::pow(base, position);
    const double smooth = std::clamp((context / wavelength - low) / (high - low), 0.0, 1.0);
    factors[i] = static_cast<float>(1 / ((1 - smooth) / factor + smooth));
  }
  return factors;
}

}  // namespace sten
