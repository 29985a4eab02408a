// SPDX-License-Identifier: Apache-2.0
// Fields of config.json that a GGUF file needs, with the values of missing keys in transformers.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "libsten/files/gguf/architectures.h"
#include "libsten/files/gguf/json_member.h"

namespace sten {

// Functions throw an Error for a value of a wrong kind, with the file and the key.
class GgufModelConfig {
 public:
  using Json = nlohmann::ordered_json;

  // `config` outlives the object. Error for a model_type without an architecture.
  explicit GgufModelConfig(const NamedJson& config);

  const GgufArchitecture& architecture() const { return *known_; }
  const std::string& name() const { return name_; }
  const Json& json() const { return config_; }
  // The rotary embedding, of layers with full attention.
  const Json& rotary() const { return rotary_; }

  // An integer from 0 to 2^31 - 1; 0 if it is missing.
  std::uint32_t size(const char* key) const { return size(config_, key); }
  // Error if it is missing or 0.
  std::uint32_t needed(const char* key) const;
  double number(const Json& object, const char* key, double otherwise) const;
  bool flag(const char* key, bool otherwise) const;

  std::uint32_t experts() const;  // of each layer
  std::uint32_t head_dim() const;
  double norm_eps() const;
  double rope_theta() const;
  double local_rope_theta() const;  // of layers with a sliding window
  double rotary_part() const;       // of each head
  std::string rotary_type() const;
  std::uint32_t original_positions() const;  // before scaling; 0 if they are missing

  // Of Gemma: the sliding window, 0 without one, and which layers have it.
  std::uint32_t window() const;
  std::vector<bool> sliding_layers() const;
  std::vector<bool> sliding_layers(std::int64_t period) const;

 private:
  std::uint32_t size(const Json& object, const char* key) const;
  std::vector<bool> listed_layers(const Json& types) const;

  const std::string& name_;
  const Json& config_;
  Json rotary_;
  const GgufArchitecture* known_ = nullptr;
};

}  // namespace sten
