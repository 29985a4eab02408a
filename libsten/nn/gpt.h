// GPT-2 (Radford et al. 2019), under the names of HuggingFace transformers.
#pragma once
#include "libsten/graph/graph.h"

namespace sten {

// The fields of a config.json, under its names. Dropout is ignored: the graph has none.
struct GptConfig {
  Index vocab_size = 0, n_positions = 0, n_embd = 0, n_layer = 0, n_head = 0;
  Index n_inner = 0;  // of the hidden layer; a file may leave it out, or have null: 4 n_embd
  double layer_norm_epsilon = 1e-5, initializer_range = 0.02;
  // gelu_new, gelu_pytorch_tanh and gelu_fast are one; or gelu, relu, silu, tanh.
  std::string activation_function = "gelu_new";

  // `what` begins messages. Error (usage) that names the key: sizes that are missing or not
  // positive integers, heads that do not divide n_embd, and values of another model. Other keys are
  // ignored.
  static GptConfig parse(std::string_view json, const std::string& what = "config");
  // The number of parameters of its graph; a double, because a config may describe more than any
  // integer holds.
  double parameters() const;
  friend bool operator==(const GptConfig&, const GptConfig&) = default;
};

// Whether a config.json is one: by its model_type, else by its n_embd.
bool is_gpt_config(std::string_view json, const std::string& what = "config");

// The parts of a GPT's graph besides its blocks.
struct GptParts {
  bool mask = false;   // an input "attention_mask" [B, T], 0 for padding, which is not seen
  bool last = false;   // logits [B, 1, vocabulary] of the last token alone, else [B, T, vocabulary]
  bool loss = false;   // an input "labels" [B, T]: the id after each token, -100 where it does not
                       // count; and the output "loss", a scalar
  double dropout = 0;  // of the embeddings, and of what attention and the feed-forward layers add;
                       // above 0 an input "draw" (dropout.h). Attention has none inside
};

// Inputs are integers: "input_ids" [B, T] and "position_ids" [T]; gpt_inputs() gives them. The
// output "lm_head" are the logits of the next token. The head shares the table of tokens, as
// "lm_head.weight" of a file has to. Intermediate values have the names of the modules that make
// them, such as "transformer.h.0.attn.c_attn"; its parts are "....query", "....key" and "....value",
// attention itself is "transformer.h.0.attn", the activation "transformer.h.0.mlp.act", and sums are
// "transformer.h.0.attn.add" and "transformer.h.0.mlp.add".
//
// Matrices are [out, in], while files of transformers have those of c_attn, c_fc and c_proj as
// [in, out] (its Conv1D): load_weights() turns them. Files may leave "transformer." out of names.
Graph gpt(const GptConfig& config, const GptParts& parts = {});

// For ids [B, T]: positions first to first + T - 1.
NamedValues<Tensor> gpt_inputs(const Tensor& ids, Index first = 0);

// Globs of tensors that files of GPTs have beside weights: the triangles that hide later tokens.
const std::vector<std::string>& gpt_unused();

}  // namespace sten
