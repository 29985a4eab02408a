// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/architectures.h"

#include <algorithm>
#include <iterator>

namespace sten {
namespace {

constexpr GgufArchitecture architectures[] = {
    {.name = "llama",
     .model_type = "llama",
     .model_class = "LlamaForCausalLM",
     .any_head_dim = true},
    {.name = "llama",
     .model_type = "mixtral",
     .model_class = "MixtralForCausalLM",
     .experts_key = "num_local_experts",
     .normalizes = true,
     .eps = 1e-5,
     .rope_theta = 1e6,
     .any_head_dim = true},
    {.name = "qwen2", .model_type = "qwen2", .model_class = "Qwen2ForCausalLM"},
    {.name = "qwen2moe",
     .model_type = "qwen2_moe",
     .model_class = "Qwen2MoeForCausalLM",
     .experts_key = "num_experts",
     .head = GgufHead::needed},
    {.name = "qwen3",
     .model_type = "qwen3",
     .model_class = "Qwen3ForCausalLM",
     .head_dim = 128,
     .any_head_dim = true},
    {.name = "qwen3moe",
     .model_type = "qwen3_moe",
     .model_class = "Qwen3MoeForCausalLM",
     .experts_key = "num_experts",
     .normalizes = true,
     .any_head_dim = true},
    {.name = "gemma2",
     .model_type = "gemma2",
     .model_class = "Gemma2ForCausalLM",
     .activation_key = "hidden_activation",
     .activation = "gelu_pytorch_tanh",
     .head_dim = 256,
     .any_head_dim = true,
     .head = GgufHead::never,
     .window_period = 2,
     .layers_of_27b = 46},
    {.name = "gemma3",
     .model_type = "gemma3_text",
     .model_class = "Gemma3ForCausalLM",
     .activation_key = "hidden_activation",
     .activation = "gelu_pytorch_tanh",
     .rope_theta = 1e6,
     .head_dim = 256,
     .any_head_dim = true,
     .window_period = 6,
     .layers_of_27b = 62},
    {.name = "phi3",
     .model_type = "phi3",
     .model_class = "Phi3ForCausalLM",
     .eps = 1e-5,
     .part_key = "partial_rotary_factor"},
    {.name = "olmo2",
     .model_type = "olmo2",
     .model_class = "Olmo2ForCausalLM",
     .eps = 1e-5,
     .head = GgufHead::needed},
    {.name = "gptneox",
     .model_type = "gpt_neox",
     .model_class = "GPTNeoXForCausalLM",
     .activation = "gelu",
     .eps = 1e-5,
     .rotary_part = 0.25,
     .part_key = "rotary_pct",
     .head = GgufHead::needed},
};

// Keys of gguf-py (constants.py) and of the configurations of transformers.
constexpr GgufConfigKey keys[] = {
    {"vocab_size", "vocab_size"},
    {"context_length", "max_position_embeddings"},
    {"embedding_length", "hidden_size"},
    {"block_count", "num_hidden_layers"},
    {"feed_forward_length", "intermediate_size"},
    {"expert_used_count", "num_experts_per_tok", false, true},
    {"expert_feed_forward_length", "moe_intermediate_size", false, true},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size", false, true},
    {"attention.head_count", "num_attention_heads"},
    {"attention.head_count_kv", "num_key_value_heads"},
    {"attention.key_length", "head_dim"},
    {"attention.sliding_window", "sliding_window"},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", true},
    {"attention.layer_norm_epsilon", "layer_norm_eps", true},
    {"attn_logit_softcapping", "attn_logit_softcapping", true},
    {"final_logit_softcapping", "final_logit_softcapping", true},
    {"rope.freq_base", "rope_theta", true},
    {"rope.scaling.original_context_length", "original_max_position_embeddings"},
};

}  // namespace

const GgufArchitecture* gguf_architecture(std::string_view name, bool has_experts) {
  const auto at = std::ranges::find_if(architectures, [&](const GgufArchitecture& a) {
    return a.name == name && a.has_experts() == has_experts;
  });
  return at == std::end(architectures) ? nullptr : &*at;
}

const GgufArchitecture* gguf_architecture_of(std::string_view model_type) {
  if (model_type == "mistral") return gguf_architecture("llama", false);
  const auto at = std::ranges::find(architectures, model_type, &GgufArchitecture::model_type);
  return at == std::end(architectures) ? nullptr : &*at;
}

std::span<const GgufConfigKey> gguf_config_keys() { return keys; }

}  // namespace sten
