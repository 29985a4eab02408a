// SPDX-License-Identifier: Apache-2.0
// State of pruning until recovery in a training run.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libsten/training/optim/parameter.h"
#include "libsten/training/recipe/recovery.h"

namespace sten {

// A layer that was pruned.
struct TriedLayer {
  Index step = 0;  // before whose forward pass
  RecoveryRounds rounds{};
  double loss = 0;        // of the validation split, after the last round
  bool is_dense = false;  // did not recover
};

// An entry of the recipe that prunes until recovery.
struct RecoveryState {
  std::size_t entry = 0;              // of the recipe
  std::optional<double> reference{};  // validation loss before the first layer; none: not started
  std::vector<TriedLayer> layers{};   // in the order of the entry's weights
  // The last layer and its optimizer state before it was pruned; none: it is not in its rounds.
  std::optional<Parameter> before{};
};

// The tensors of `before`, by names with this prefix: before.value.WEIGHT, before.KEY.WEIGHT.
inline constexpr std::string_view before_prefix = "before.";
std::vector<std::pair<std::string, Tensor>> tensors_before(const RecoveryState& r);
// Puts a tensor of tensors_before() into the state that it is of. Error if it is of none.
void restore_before(std::vector<RecoveryState>& all, const std::string& name, Tensor tensor);

}  // namespace sten
