// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/layer_recovery.h"

#include <algorithm>
#include <cmath>

#include "libsten/core/base/error.h"
#include "libsten/training/comm/together.h"

namespace sten {

void LayerRecovery::begin() {
  for (RecoveryState& r : weights_.state.recoveries) {
    const ScheduleRecipe& by = weights_.task.recipe().sparsity[r.entry].schedule;
    if (r.reference || weights_.state.step != by.begin) continue;
    const double loss = validation_loss();
    if (!std::isfinite(loss))
      fail("step {}: the validation loss before pruning is {}: expected a finite loss",
           weights_.state.step, loss);
    r.reference = loss;
    start_next(r);
  }
}

void LayerRecovery::end() {
  std::optional<double> loss;
  for (RecoveryState& r : weights_.state.recoveries) {
    if (!r.before) continue;
    const ScheduleRecipe& by = weights_.task.recipe().sparsity[r.entry].schedule;
    const Index layers = std::ssize(weights_.stages_of(r));
    TriedLayer& last = r.layers.back();
    if ((weights_.state.step - last.step) % steps_per_round(by, layers) != 0) continue;
    if (!loss) loss = validation_loss();
    last.loss = *loss;
    const Recovery verdict = last.rounds.add(by.recovery, *r.reference, *loss);
    if (verdict == Recovery::train_again) continue;
    if (verdict != Recovery::recovered) leave_dense(r);
    r.before.reset();
    if (std::ssize(r.layers) < layers) start_next(r);
  }
}

double LayerRecovery::validation_loss() const {
  Communicator& ranks = exchange_.ranks();
  double loss = 0;
  on_first_rank(ranks, [&] {
    const Measured m = weights_.task.measure(selection_.measured(), DataSplit::validation,
                                             std::max<Index>(weights_.state.step - 1, 0));
    if (m.count == 0) fail_usage("pruning until recovery: the validation split is empty");
    loss = m.loss;
  });
  ranks.broadcast(std::as_writable_bytes(std::span(&loss, 1)));
  return loss;
}

void LayerRecovery::start_next(RecoveryState& r) {
  const std::size_t next = r.layers.size();
  r.layers.push_back({weights_.state.step});
  r.before = weights_.state.parameters[weights_.index_of(weights_.stages_of(r)[next])];
  weights_.set_recovery_stages();
}

void LayerRecovery::leave_dense(RecoveryState& r) {
  const std::size_t i = weights_.index_of(weights_.stages_of(r)[r.layers.size() - 1]);
  weights_.state.parameters[i] = *r.before;
  weights_.sparsity[i].computing.reset();
  r.layers.back().is_dense = true;
  weights_.set_recovery_stages();
  selection_.count(i);
}

}  // namespace sten
