// SPDX-License-Identifier: Apache-2.0
// Layer-wise pruning until recovery: what follows a round of training of a pruned layer.
#pragma once
#include <optional>

#include "libsten/core/base/shape.h"

namespace sten {

struct RecoveryRule {
  double tolerance = 0.02;  // relative
  Index rounds = 5;         // maximum per layer
  Index patience = 2;       // rounds in a row without a lower loss that end a layer's rounds

  // The highest loss of a recovered layer, L + tolerance * |L|. `reference`: the loss L before
  // pruning, which may be negative.
  double recovered_loss(double reference) const {
    return reference + tolerance * (reference < 0 ? -reference : reference);
  }
};

enum class Recovery {
  train_again,    // another round of the same layer
  recovered,      // the next layer
  out_of_rounds,  // not recovered after the maximum of rounds
  no_lower_loss,  // not recovered, and no progress
};

// The rounds of a pruned layer so far.
struct RecoveryRounds {
  Index count = 0;
  Index worse = 0;               // rounds without a lower loss since the best one
  std::optional<double> best{};  // the lowest loss; infinite if all were NaN

  // Counts a round that ended with `loss`; the reference is finite. A NaN is not a lower loss.
  Recovery add(const RecoveryRule& rule, double reference, double loss);
};

}  // namespace sten
