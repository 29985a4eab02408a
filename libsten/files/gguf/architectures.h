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
};
// nullptr for an unknown architecture.
const GgufArchitecture* gguf_architecture(std::string_view name);
// By the model_type of a config.json; nullptr for an unknown one.
const GgufArchitecture* gguf_architecture_of(std::string_view model_type);

// A number with a key in the metadata, "ARCHITECTURE.SUFFIX", and one in config.json.
struct GgufConfigKey {
  const char *suffix, *config;
  bool is_real = false;
};
std::span<const GgufConfigKey> gguf_config_keys();

}  // namespace sten
