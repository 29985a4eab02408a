// SPDX-License-Identifier: Apache-2.0
// Decoders with rotary positions or a table of positions: Llama, Mistral, Mixtral, Qwen, Gemma, Phi-3,
// OLMo 2, GPT-NeoX and OPT, with the names of Hugging Face transformers. decoder_architecture.h has
// one row for each model_type.
#pragma once
#include "libsten/model/graph/graph.h"
#include "libsten/model/nn/decoder_architecture.h"
#include "libsten/model/nn/rotary_frequencies.h"

namespace sten {

// What a config.json says of a decoder.
struct DecoderConfig {
  struct Layer {
    Index window = 0;        // a query sees that many keys; 0: all
    std::size_t rotary = 0;  // index in `rotary`
    bool has_experts = false;
    friend bool operator==(const Layer&, const Layer&) = default;
  };
  struct Experts {
    Index count = 0, top_k = 0, hidden_size = 0, shared_size = 0;
    bool normalizes = false;  // the weights of a token's experts, so that their sum is 1
  };

  const DecoderArchitecture* architecture = nullptr;
  Index vocab_size = 0, hidden_size = 0, intermediate_size = 0;
  Index heads = 0, kv_heads = 0, head_width = 0;
  Index positions = 0;       // most tokens of a sequence
  Index embedding_size = 0;  // other than hidden_size: projected to it and back
  double norm_eps = 1e-6, initializer_range = 0.02;
  std::string activation;  // an operator
  bool has_qkv_bias = false, has_output_bias = false, has_mlp_bias = false;
  bool ties_embeddings = false;
  // GPT-NeoX: attention and feed-forward layers have the same input.
  bool is_parallel = false;
  // OPT: norms before attention and feed-forward layers, else after their sums.
  bool norms_first = true;
  double attention_scale = 0;
  double score_cap = 0, logit_cap = 0;  // soft caps; 0: none
  std::vector<RotaryParameters> rotary;
  Experts experts;
  std::vector<Layer> layers;

  // Parses a config.json of transformers 4 or 5, or its text_config if the model is multimodal;
  // messages start with `what`. Error (usage), which names the key, for missing or non-positive
  // sizes, and values that describe another model. Ignores unknown keys.
  static DecoderConfig parse(std::string_view json, const std::string& what = "config");
};

// Whether a config.json is a decoder's, by its model_type.
bool is_decoder_config(std::string_view json, const std::string& what = "config");

// Parts of a decoder's graph besides the blocks.
struct DecoderParts {
  bool mask = false;  // adds input "attention_mask" [B, T], 0 for ignored padding
  bool last = false;  // logits [B, 1, vocabulary] of the last token, else [B, T, vocabulary]
  bool loss = false;  // adds input "labels" [B, T], the id after each token, -100 for positions
                      // that do not count, and output "loss", a scalar
  // The number of tokens, if known, that rotary positions are made for: LongRoPE has other
  // frequencies above the model's original length.
  Index tokens = 0;
};

// Makes the graph of a decoder. Inputs are integers: "input_ids" [B, T] and "position_ids" [T] or
// [B, T]; gpt_inputs() makes them. The output "logits" is those of the next token. Intermediate
// values have the names of their modules, such as "model.layers.0.self_attn.q_proj"; attention is
// "model.layers.0.self_attn", and sums are "model.layers.0.self_attn.add" and
// "model.layers.0.mlp.add".
Graph decoder(const DecoderConfig& config, const DecoderParts& parts = {});

// Globs of tensors in files of decoders that are not weights of the language model: stored
// frequencies, causal masks, and the parts of multimodal models for images.
const std::vector<std::string>& decoder_unused();

}  // namespace sten
