// SPDX-License-Identifier: Apache-2.0
// Architectures of GGUF files: their models in transformers, and keys of config.json.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace sten {

// The tensor "output.weight" in llama.cpp. Without it, the embedding is the output head.
enum class GgufHead { optional, needed, never };

struct GgufArchitecture {
  std::string_view name;        // "general.architecture"
  std::string_view model_type;  // in config.json
  std::string_view model_class;
  std::string_view activation_key = "hidden_act", activation = "silu";
  // Of a model with a mixture of experts in each layer: the key of their number in config.json; ""
  // without experts.
  std::string_view experts_key = "";
  // Whether llama.cpp makes the sum of the weights of a token's experts 1.
  bool normalizes = false;

  // What a missing key of config.json means, as in transformers.
  double eps = 1e-6, rope_theta = 10000, rotary_part = 1;
  std::int64_t head_dim = 0;       // 0: hidden_size / num_attention_heads
  std::string_view part_key = "";  // of the rotated part of heads; "" if all channels rotate

  // Whether llama.cpp takes another head_dim than hidden_size / num_attention_heads.
  bool any_head_dim = false;
  GgufHead head = GgufHead::optional;
  // Of Gemma: all layers but each nth one have a sliding window; 0: no windows.
  std::int64_t window_period = 0;
  // Layers of the model whose attention is scaled by hidden_size / num_attention_heads.
  std::int64_t layers_of_27b = 0;

  bool has_experts() const { return !experts_key.empty(); }
  // query_pre_attn_scalar of Gemma as llama.cpp computes it.
  std::int64_t query_scalar(std::int64_t layers, std::int64_t hidden_per_head,
                            std::int64_t head_width) const {
    return layers == layers_of_27b ? hidden_per_head : head_width;
  }
};
// nullptr for an unknown architecture.
const GgufArchitecture* gguf_architecture(std::string_view name, bool has_experts);
// By the model_type of a config.json; nullptr for an unknown one.
const GgufArchitecture* gguf_architecture_of(std::string_view model_type);

// Kinds of layers are listed for no more layers than this.
inline constexpr std::int64_t gguf_most_layers = 10000;

// A number with a key in the metadata, "ARCHITECTURE.SUFFIX", and one in config.json.
struct GgufConfigKey {
  const char *suffix, *config;
  bool is_real = false;
  bool of_experts = false;
};
std::span<const GgufConfigKey> gguf_config_keys();

}  // namespace sten
