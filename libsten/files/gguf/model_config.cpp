// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/model_config.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/json.h"
#include "libsten/core/base/text.h"

namespace sten {

GgufModelConfig::GgufModelConfig(const NamedJson& config)
    : name_(config.name), config_(config.json) {
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

std::uint32_t GgufModelConfig::size(const Json& object, const char* key) const {
  const Json& value = json_member(object, key);
  if (value.is_null()) return 0;
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= 0x80000000u)
    fail("{}: {}: expected an integer from 0 to 2^31 - 1", name_, quote(key));
  return value.get<std::uint32_t>();
}

std::uint32_t GgufModelConfig::needed(const char* key) const {
  const std::uint32_t value = size(key);
  if (value == 0) fail("{}: missing {}", name_, quote(key));
  return value;
}

double GgufModelConfig::number(const Json& object, const char* key, double otherwise) const {
  const Json& value = json_member(object, key);
  if (value.is_null()) return otherwise;
  if (!value.is_number()) fail("{}: {}: expected a number", name_, quote(key));
  return value.get<double>();
}

bool GgufModelConfig::flag(const char* key, bool otherwise) const {
  const Json& value = json_member(config_, key);
  return value.is_boolean() ? value.get<bool>() : otherwise;
}

// transformers 5 writes the key of Mixtral for Qwen, too.
std::uint32_t GgufModelConfig::experts() const {
  const std::uint32_t given = size("num_experts");
  return given ? given : size("num_local_experts");
}

std::uint32_t GgufModelConfig::head_dim() const {
  if (const std::uint32_t given = size("head_dim")) return given;
  if (known_->head_dim > 0) return static_cast<std::uint32_t>(known_->head_dim);
  return needed("hidden_size") / needed("num_attention_heads");
}

double GgufModelConfig::norm_eps() const {
  return number(config_, known_->name == "gptneox" ? "layer_norm_eps" : "rms_norm_eps",
                known_->eps);
}

double GgufModelConfig::rope_theta() const {
  return number(
      rotary_, "rope_theta",
      number(config_, "rope_theta", number(config_, "rotary_emb_base", known_->rope_theta)));
}

double GgufModelConfig::local_rope_theta() const {
  const Json& local = json_member(json_member(config_, "rope_parameters"), "sliding_attention");
  return number(local, "rope_theta", number(config_, "rope_local_base_freq", 10000));
}

double GgufModelConfig::rotary_part() const {
  if (known_->part_key.empty()) return 1;  // transformers ignores other parts
  const std::string key(known_->part_key);
  const double part =
      number(rotary_, "partial_rotary_factor", number(config_, key.c_str(), known_->rotary_part));
  if (!(part > 0 && part <= 1)) fail("{}: {}: expected a number in (0, 1]", name_, quote(key));
  return part;
}

std::string GgufModelConfig::rotary_type() const {
  const Json& type = json_member(rotary_, "rope_type");
  const Json& former = json_member(rotary_, "type");
  return type.is_string()     ? type.get<std::string>()
         : former.is_string() ? former.get<std::string>()
                              : "default";
}

std::uint32_t GgufModelConfig::original_positions() const {
  constexpr const char* key = "original_max_position_embeddings";
  const std::uint32_t given = size(key);
  return given ? given : size(rotary_, key);
}

std::uint32_t GgufModelConfig::window() const {
  return config_.contains("sliding_window") ? size("sliding_window") : 4096;
}

std::vector<bool> GgufModelConfig::sliding_layers() const {
  if (window() == 0) return sliding_layers(1);
  if (const Json& types = json_member(config_, "layer_types"); !types.is_null())
    return listed_layers(types);
  const std::uint32_t period =
      known_->name == "gemma3" ? size("sliding_window_pattern") : 0;  // Gemma 2 has no such key
  return sliding_layers(period ? period : known_->window_period);
}

std::vector<bool> GgufModelConfig::sliding_layers(std::int64_t period) const {
  const std::int64_t layers = needed("num_hidden_layers");
  if (layers > gguf_most_layers)
    fail("{}: 'num_hidden_layers': expected at most {}, got {}", name_, gguf_most_layers, layers);
  std::vector<bool> slides;
  for (std::int64_t i = 0; i < layers; ++i) slides.push_back((i + 1) % period != 0);
  return slides;
}

std::vector<bool> GgufModelConfig::listed_layers(const Json& types) const {
  if (!types.is_array() || types.size() != needed("num_hidden_layers"))
    fail("{}: 'layer_types': expected a list of {} layers", name_, needed("num_hidden_layers"));
  std::vector<bool> slides;
  for (const Json& type : types) {
    if (type != "sliding_attention" && type != "full_attention")
      fail("{}: 'layer_types': expected sliding_attention or full_attention, got {}", name_,
           printable(dump_json(type).substr(0, 100)));
    slides.push_back(type == "sliding_attention");
  }
  return slides;
}

}  // namespace sten
