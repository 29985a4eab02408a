// SPDX-License-Identifier: Apache-2.0
// State of a training run.
#pragma once
#include <map>

#include "libsten/model/graph/graph.h"
#include "libsten/training/optim/parameter.h"
#include "libsten/training/trainer/recovery_state.h"

namespace sten {

// The inputs of a step, besides the recipe and its data.
struct TrainState {
  Index step = 0;                         // the next one
  std::vector<Parameter> parameters;      // in the order of the graph's weights
  NamedValues<Tensor> scores;             // dense; of weights that are not ranked by magnitude;
                                          // their optimizer state is that of the weight
  std::vector<RecoveryState> recoveries;  // of the entries that prune until recovery
  // By rank, then by name of weight: the values of earlier gradients that the rank has not sent
  // (compressed_exchange.h); float32, of the weight's shape. In training, a rank has its own only.
  std::map<int, NamedValues<Tensor>> residuals{};
  // Whether the values of the parameters are also measured and saved (Trainer::weights()).
  bool is_measured = true;
};

// The key of a parameter's averaged values in its state.
inline constexpr const char* average_key = "ema";

// Prefix of the optimizer state of learned scores.
inline constexpr std::string_view score_state = "score-";

// Copies a state, or weights, to the CPU.
TrainState on_cpu(TrainState state);
NamedValues<Tensor> on_cpu(NamedValues<Tensor> weights);

}  // namespace sten
