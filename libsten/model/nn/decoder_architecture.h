// SPDX-License-Identifier: Apache-2.0
// Table of the decoders that sten runs: a row says how a model_type differs from Llama.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace sten {

enum class DecoderNorm { rms, rms_unit_offset, layer };
// Which layers see only `sliding_window` keys, without `layer_types`.
enum class DecoderWindows {
  none,
  every_layer,
  from_max_window_layers,             // if use_sliding_window
  alternate,                          // layers 0, 2, 4, ...
  five_of_six,                        // or others by sliding_window_pattern
  every_layer_if_used,                // if use_sliding_window
  alternate_below_max_window_layers,  // if use_sliding_window
};
// The order of rows of one matrix for queries, keys and values.
enum class PackedQkv { none, by_part, by_head };

// A key of config.json that says whether layers have biases ("" if there is none), and the value
// without it.
struct BiasRule {
  std::string_view key;
  bool usual = false;
};

// A mixture of experts instead of feed-forward layers. Names of modules are within `mlp`.
struct DecoderExperts {
  int usual_count, usual_top_k;
  std::string_view inner_key = "moe_intermediate_size";
  bool normalizes = false;  // the weights of chosen experts, whatever norm_topk_prob says
  std::string_view router = "gate", module = "experts";
  std::string_view gate = "gate_proj", up = "up_proj", down = "down_proj";
  // Another layer of all tokens, times the sigmoid of a gate.
  std::string_view shared = "", shared_gate = "shared_expert_gate";
};

// Names of modules are those of transformers, "" if the model lacks the module.
struct DecoderArchitecture {
  std::string_view model_type;

  std::string_view base = "model", embeddings = "embed_tokens", layers = "layers";
  std::string_view final_norm = "norm", head = "lm_head", head_alias = "";
  std::string_view position_table = "";  // instead of rotary positions
  int position_offset = 0;               // its first row of a position

  DecoderNorm norm = DecoderNorm::rms;
  std::string_view before_attention = "input_layernorm", after_attention = "";
  std::string_view before_mlp = "post_attention_layernorm", after_mlp = "";

  std::string_view attention = "self_attn", query = "q_proj", key = "k_proj", value = "v_proj";
  PackedQkv packed = PackedQkv::none;  // then `query` is the only module
  std::string_view attention_output = "o_proj";
  std::string_view query_norm = "", key_norm = "";
  bool groups_queries = true;   // by num_key_value_heads
  bool norms_each_head = true;  // query_norm and key_norm, else all heads as one row

  std::string_view mlp = "mlp", gate = "gate_proj", up = "up_proj", down = "down_proj";
  bool packs_gate_up = false;  // one matrix, gates first; `up` is its name
  std::optional<DecoderExperts> experts = {};

  // Keys of config.json, and what a missing key means.
  std::string_view activation_key = "hidden_act", usual_activation = "silu";
  std::string_view inner_key = "intermediate_size";
  std::string_view eps_key = "rms_norm_eps";
  double eps = 1e-6;
  BiasRule qkv_bias{"attention_bias"}, output_bias{"attention_bias"}, mlp_bias{"mlp_bias"};
  bool ties_embeddings = false;
  std::string_view theta_key = "rope_theta", part_key = "";  // "": transformers ignores it
  double rope_theta = 10000, rotary_part = 1;
  double original_positions = 0;  // of LongRoPE
  DecoderWindows windows = DecoderWindows::none;
  int usual_window = 0;            // if sliding_window is missing; 0: none
  bool scales_embeddings = false;  // by the square root of the hidden size
  double score_cap = 0, logit_cap = 0;
};

std::span<const DecoderArchitecture> decoder_architectures();
// nullptr if there is none.
const DecoderArchitecture* find_decoder(std::string_view model_type);

}  // namespace sten
