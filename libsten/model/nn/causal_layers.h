// SPDX-License-Identifier: Apache-2.0
// The layers of a causal language model, and its config.json without some of them.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/core/base/shape.h"

namespace sten {

struct CausalLayers {
  // The modules of a mixture of experts within a layer, "mlp.gate" and "mlp.experts"; expert e has
  // the weights EXPERTS.e.*.
  struct Mixture {
    std::string router, experts;
    Index count, top_k;
  };

  std::string model_type;
  std::string name;  // of the list, "model.layers"; layer i has the nodes and weights NAME.i.*
  Index count;
  std::optional<Mixture> mixture;
};

// The layers that a config.json describes. Error (usage) as causal_model().
CausalLayers causal_layers(std::string_view json, const std::string& what);

// Returns the config.json of the model that has only the layers `kept`, ascending indices, and that
// many experts in each mixture. Lists and rules by the index of a layer (layer_types,
// max_window_layers, mlp_only_layers, decoder_sparse_step) become those of the kept layers;
// layer_types replaces a period of windows (sliding_window_pattern) that they no longer have. Error
// (usage) if the model_type cannot express the kept layers.
std::string reduced_config(std::string_view json, const std::string& what,
                           std::span<const Index> kept, std::optional<Index> experts = {});

}  // namespace sten
