// SPDX-License-Identifier: Apache-2.0
// Architectures of GGUF files: their models in transformers, and keys of config.json.
#pragma once
#include <span>
#include <string_view>

namespace sten {

struct GgufArchitecture {
  std::string_view name;        // "general.architecture"
  std::string_view model_type;  // in config.json
  std::string_view model_class;
  std::string_view activation_key, activation;
  // Of a model with a mixture of experts in each layer: the key of their number in config.json; ""
  // without experts.
  std::string_view experts_key = "";
  // Whether llama.cpp makes the sum of the weights of a token's experts 1.
  bool normalizes = false;

  bool has_experts() const { return !experts_key.empty(); }
};
// nullptr for an unknown architecture.
const GgufArchitecture* gguf_architecture(std::string_view name, bool has_experts);
// By the model_type of a config.json; nullptr for an unknown one.
const GgufArchitecture* gguf_architecture_of(std::string_view model_type);

// A number with a key in the metadata, "ARCHITECTURE.SUFFIX", and one in config.json.
struct GgufConfigKey {
  const char *suffix, *config;
  bool is_real = false;
  bool of_experts = false;
};
std::span<const GgufConfigKey> gguf_config_keys();

}  // namespace sten
