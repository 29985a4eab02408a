// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/recipe/recovery.h"

#include <cmath>
#include <limits>

namespace sten {

Recovery RecoveryRounds::add(const RecoveryRule& rule, double reference, double loss) {
  ++count;
  const bool is_better = !std::isnan(loss) && (!best || loss < *best);
  worse = best && !is_better ? worse + 1 : 0;
  best = is_better ? loss : best.value_or(std::numeric_limits<double>::infinity());
  if (loss <= rule.recovered_loss(reference)) return Recovery::recovered;
  if (worse >= rule.patience) return Recovery::no_lower_loss;
  return count >= rule.rounds ? Recovery::out_of_rounds : Recovery::train_again;
}

}  // namespace sten
