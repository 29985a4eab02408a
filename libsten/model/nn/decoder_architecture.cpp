// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/decoder_architecture.h"

#include <algorithm>

namespace sten {
namespace {

constexpr DecoderArchitecture llama{.model_type = "llama"};

constexpr DecoderArchitecture mistral{
    .model_type = "mistral", .windows = DecoderWindows::every_layer, .usual_window = 4096};

constexpr DecoderArchitecture qwen2{.model_type = "qwen2",
                                    .qkv_bias = {"", true},
                                    .output_bias = {""},
                                    .windows = DecoderWindows::from_max_window_layers,
                                    .usual_window = 4096};

constexpr DecoderArchitecture qwen3{.model_type = "qwen3",
                                    .query_norm = "q_norm",
                                    .key_norm = "k_norm",
                                    .windows = DecoderWindows::from_max_window_layers,
                                    .usual_window = 4096};

constexpr DecoderArchitecture mixtral{.model_type = "mixtral",
                                      .mlp = "block_sparse_moe",
                                      .experts = DecoderExperts{.usual_count = 8,
                                                                .usual_top_k = 2,
                                                                .inner_key = "intermediate_size",
                                                                .normalizes = true,
                                                                .gate = "w1",
                                                                .up = "w3",
                                                                .down = "w2"},
                                      .eps = 1e-5,
                                      .rope_theta = 1e6,
                                      .windows = DecoderWindows::every_layer};

constexpr DecoderArchitecture qwen2_moe{
    .model_type = "qwen2_moe",
    .experts = DecoderExperts{.usual_count = 60, .usual_top_k = 4, .shared = "shared_expert"},
    .qkv_bias = {"qkv_bias", true},
    .output_bias = {""},
    .windows = DecoderWindows::alternate_below_max_window_layers,
    .usual_window = 4096};

constexpr DecoderArchitecture qwen3_moe{
    .model_type = "qwen3_moe",
    .query_norm = "q_norm",
    .key_norm = "k_norm",
    .experts = DecoderExperts{.usual_count = 128, .usual_top_k = 8},
    .windows = DecoderWindows::every_layer_if_used,
    .usual_window = 4096};

constexpr DecoderArchitecture gemma2{.model_type = "gemma2",
                                     .norm = DecoderNorm::rms_unit_offset,
                                     .after_attention = "post_attention_layernorm",
                                     .before_mlp = "pre_feedforward_layernorm",
                                     .after_mlp = "post_feedforward_layernorm",
                                     .activation_key = "hidden_activation",
                                     .usual_activation = "gelu-tanh",
                                     .ties_embeddings = true,
                                     .windows = DecoderWindows::alternate,
                                     .usual_window = 4096,
                                     .scales_embeddings = true,
                                     .score_cap = 50,
                                     .logit_cap = 30};

constexpr DecoderArchitecture gemma3{.model_type = "gemma3_text",
                                     .norm = DecoderNorm::rms_unit_offset,
                                     .after_attention = "post_attention_layernorm",
                                     .before_mlp = "pre_feedforward_layernorm",
                                     .after_mlp = "post_feedforward_layernorm",
                                     .query_norm = "q_norm",
                                     .key_norm = "k_norm",
                                     .activation_key = "hidden_activation",
                                     .usual_activation = "gelu-tanh",
                                     .ties_embeddings = true,
                                     .rope_theta = 1e6,
                                     .windows = DecoderWindows::five_of_six,
                                     .usual_window = 4096,
                                     .scales_embeddings = true};

constexpr DecoderArchitecture phi3{.model_type = "phi3",
                                   .query = "qkv_proj",
                                   .packed = PackedQkv::by_part,
                                   .up = "gate_up_proj",
                                   .packs_gate_up = true,
                                   .eps = 1e-5,
                                   .part_key = "partial_rotary_factor",
                                   .original_positions = 4096,
                                   .windows = DecoderWindows::every_layer};

constexpr DecoderArchitecture olmo2{.model_type = "olmo2",
                                    .before_attention = "",
                                    .after_attention = "post_attention_layernorm",
                                    .before_mlp = "",
                                    .after_mlp = "post_feedforward_layernorm",
                                    .query_norm = "q_norm",
                                    .key_norm = "k_norm",
                                    .norms_each_head = false,
                                    .eps = 1e-5};

constexpr DecoderArchitecture gpt_neox{.model_type = "gpt_neox",
                                       .base = "gpt_neox",
                                       .embeddings = "embed_in",
                                       .final_norm = "final_layer_norm",
                                       .head = "embed_out",
                                       .head_alias = "lm_head",
                                       .norm = DecoderNorm::layer,
                                       .attention = "attention",
                                       .query = "query_key_value",
                                       .packed = PackedQkv::by_head,
                                       .attention_output = "dense",
                                       .groups_queries = false,
                                       .gate = "",
                                       .up = "dense_h_to_4h",
                                       .down = "dense_4h_to_h",
                                       .usual_activation = "gelu",
                                       .eps_key = "layer_norm_eps",
                                       .eps = 1e-5,
                                       .qkv_bias = {"attention_bias", true},
                                       .output_bias = {"attention_bias", true},
                                       .mlp_bias = {"", true},
                                       .theta_key = "rotary_emb_base",
                                       .part_key = "rotary_pct",
                                       .rotary_part = 0.25};

constexpr DecoderArchitecture opt{.model_type = "opt",
                                  .base = "model.decoder",
                                  .final_norm = "final_layer_norm",
                                  .position_table = "embed_positions",
                                  .position_offset = 2,
                                  .norm = DecoderNorm::layer,
                                  .before_attention = "self_attn_layer_norm",
                                  .before_mlp = "final_layer_norm",
                                  .attention_output = "out_proj",
                                  .groups_queries = false,
                                  .mlp = "",
                                  .gate = "",
                                  .up = "fc1",
                                  .down = "fc2",
                                  .activation_key = "activation_function",
                                  .usual_activation = "relu",
                                  .inner_key = "ffn_dim",
                                  .eps_key = "",
                                  .eps = 1e-5,
                                  .qkv_bias = {"enable_bias", true},
                                  .output_bias = {"enable_bias", true},
                                  .mlp_bias = {"enable_bias", true},
                                  .ties_embeddings = true};

constexpr DecoderArchitecture table[] = {llama,     mistral,   qwen2,  qwen3,  mixtral,
                                         qwen2_moe, qwen3_moe, gemma2, gemma3, phi3,
                                         olmo2,     gpt_neox,  opt};

}  // namespace

std::span<const DecoderArchitecture> decoder_architectures() { return table; }

const DecoderArchitecture* find_decoder(std::string_view model_type) {
  const auto at = std::ranges::find(table, model_type, &DecoderArchitecture::model_type);
  return at == std::end(table) ? nullptr : &*at;
}

}  // namespace sten
