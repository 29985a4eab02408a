// SPDX-License-Identifier: Apache-2.0
// GPT-2 (Radford et al. 2019), with the names of Hugging Face transformers.
#pragma once
#include "libsten/model/graph/graph.h"

namespace sten {

// The fields of a config.json, with its names. Dropout is ignored; see GptParts.
struct GptConfig {
  Index vocab_size = 0, n_positions = 0, n_embd = 0, n_layer = 0, n_head = 0;
  Index n_inner = 0;  // size of the hidden layer; default, also for null: 4 n_embd
  double layer_norm_epsilon = 1e-5, initializer_range = 0.02;
  std::string activation = "gelu-tanh";  // the operator of activation_function
  bool ties_embeddings = true;           // tie_word_embeddings: the head shares its weight

  // Parses a config.json; messages start with `what`. Error (usage), which names the key, for
  // missing or non-positive sizes, a number of heads that does not divide n_embd, and values that
  // describe another model. Ignores unknown keys.
  static GptConfig parse(std::string_view json, const std::string& what = "config");
  // The number of parameters of the graph. A double, since a config may describe more than an
  // integer can hold.
  double parameters() const;
  friend bool operator==(const GptConfig&, const GptConfig&) = default;
};

// Whether a config.json is GPT-2's, by its model_type, else by the presence of n_embd.
bool is_gpt_config(std::string_view json, const std::string& what = "config");

// Parts of a GPT's graph besides the blocks.
struct GptParts {
  bool mask = false;   // adds input "attention_mask" [B, T], 0 for ignored padding
  bool last = false;   // logits [B, 1, vocabulary] of the last token, else [B, T, vocabulary]
  bool loss = false;   // adds input "labels" [B, T], the id after each token, -100 for positions
                       // that do not count, and output "loss", a scalar
  double dropout = 0;  // probability for embeddings and for the outputs of attention and
                       // feed-forward layers, not within attention; above 0 adds input "draw"
                       // (dropout.h)
};

// Makes the graph of a GPT-2. Inputs are integers: "input_ids" [B, T] and "position_ids" [T];
// gpt_inputs() makes them. The output "lm_head" is the logits of the next token. A head
// that shares the token embeddings is no weight of its own; "lm_head.weight" of a file must then
// equal them. Intermediate values have the names of their modules, such as "transformer.h.0.attn.c_attn", with the parts "....query",
// "....key" and "....value"; attention is "transformer.h.0.attn", the activation
// "transformer.h.0.mlp.act", and sums are "transformer.h.0.attn.add" and "transformer.h.0.mlp.add".
//
// Matrices are [out, in]. Files of transformers have c_attn, c_fc and c_proj as [in, out] (Conv1D);
// load_weights() transposes them. Names in files may lack "transformer.".
Graph gpt(const GptConfig& config, const GptParts& parts = {});

// The inputs for ids [B, T]: positions first to first + T - 1.
NamedValues<Tensor> gpt_inputs(const Tensor& ids, Index first = 0);

// Globs of tensors in GPT files that are not weights: the causal masks.
const std::vector<std::string>& gpt_unused();

}  // namespace sten
