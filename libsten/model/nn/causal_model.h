// SPDX-License-Identifier: Apache-2.0
// A causal language model by its config.json: GPT-2 (gpt.h), or another decoder (decoder.h).
#pragma once
#include "libsten/model/graph/graph.h"

namespace sten {

// Parts of the graph besides the blocks, as DecoderParts and GptParts say.
struct CausalModelParts {
  bool mask = false, last = false, loss = false;
  double dropout = 0;
  Index tokens = 0;  // of the longest text, if known
};

struct CausalModel {
  Graph graph;
  Index vocabulary = 0;
  Index positions = 0;  // most tokens of a text
  // Globs of tensors that files have for other uses.
  std::vector<std::string> unused;
};

// Whether the model_type, or without one the keys, are those of a causal language model.
bool is_causal_config(std::string_view json, const std::string& what = "config");

// Builds the model of a config.json; messages start with `what`. Error (usage) as GptConfig::parse()
// and DecoderConfig::parse(), and for dropout that the model_type does not have.
CausalModel causal_model(std::string_view json, const std::string& what,
                         const CausalModelParts& parts = {});

// The most tokens of a text.
Index positions_of_config(std::string_view json, const std::string& what);

}  // namespace sten
