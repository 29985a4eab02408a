// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/train_state.h"

namespace sten {

TrainState on_cpu(TrainState state) {
  const auto copy = [](Parameter& p) {
    p.value = p.value.to(Device::cpu);
    for (auto& [key, s] : p.state) s = s.to(Device::cpu);
  };
  for (Parameter& p : state.parameters) copy(p);
  for (RecoveryState& r : state.recoveries)
    if (r.before) copy(*r.before);
  return state;
}

NamedValues<Tensor> on_cpu(NamedValues<Tensor> weights) {
  for (auto& [name, w] : weights) w = w.to(Device::cpu);
  return weights;
}

}  // namespace sten
