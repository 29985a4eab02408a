// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/architectures.h"

#include <algorithm>
#include <iterator>

namespace sten {
namespace {

constexpr GgufArchitecture architectures[] = {
    {"llama", "llama", "LlamaForCausalLM", "hidden_act", "silu"},
    {"llama", "mixtral", "MixtralForCausalLM", "hidden_act", "silu", "num_local_experts", true},
    {"qwen2", "qwen2", "Qwen2ForCausalLM", "hidden_act", "silu"},
    {"qwen2moe", "qwen2_moe", "Qwen2MoeForCausalLM", "hidden_act", "silu", "num_experts"},
    {"qwen3", "qwen3", "Qwen3ForCausalLM", "hidden_act", "silu"},
    {"qwen3moe", "qwen3_moe", "Qwen3MoeForCausalLM", "hidden_act", "silu", "num_experts", true},
    {"gemma2", "gemma2", "Gemma2ForCausalLM", "hidden_activation", "gelu_pytorch_tanh"},
    {"gemma3", "gemma3_text", "Gemma3ForCausalLM", "hidden_activation", "gelu_pytorch_tanh"},
    {"phi3", "phi3", "Phi3ForCausalLM", "hidden_act", "silu"},
    {"olmo2", "olmo2", "Olmo2ForCausalLM", "hidden_act", "silu"},
    {"gptneox", "gpt_neox", "GPTNeoXForCausalLM", "hidden_act", "gelu"},
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
