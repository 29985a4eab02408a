// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/optim/sgd.h"

#include "libsten/training/optim/step.h"

namespace sten {
namespace {

void check(const SgdOptions& o) {
  if (!(o.rate >= 0)) fail_usage("sgd: rate must be >= 0, got {}", o.rate);
  if (!(o.momentum >= 0)) fail_usage("sgd: momentum must be >= 0, got {}", o.momentum);
  if (!(o.weight_decay >= 0)) fail_usage("sgd: weight_decay must be >= 0, got {}", o.weight_decay);
  if (o.nesterov && o.momentum == 0) fail_usage("sgd: nesterov needs a momentum > 0");
}

}  // namespace

class Sgd::Steps : public DeviceSteps<kernels::SgdElements> {
 public:
  Steps() : DeviceSteps(&kernels::StepFunctions::sgd) {}
  void step(const SgdOptions& o, const ParameterStep& of);
};

void Sgd::Steps::step(const SgdOptions& o, const ParameterStep& of) {
  const auto on_device = [&](const kernels::StepFunctions&, const kernels::StepElements& x,
                             float* const* state, kernels::Stream) {
    const kernels::SgdStep s{static_cast<float>(o.rate), static_cast<float>(o.weight_decay),
                             static_cast<float>(o.momentum), o.nesterov};
    add({x, s, o.momentum == 0 ? nullptr : state[0]}, *of.update);
  };
  const auto run = [&](const StepRule& rule) {
    step_elements(*of.parameter, *of.gradient, *of.update, rule);
  };
  if (o.momentum == 0) {
    const auto plain = [&o]<class T>(T* w, const T* g, T* const*, Index n) {
      const T rate = static_cast<T>(o.rate), decay = static_cast<T>(o.weight_decay);
      for (Index i = 0; i < n; ++i) w[i] -= rate * (g[i] + decay * w[i]);
    };
    return run(StepRule::of("sgd", {}, plain, on_device, held(*of.update)));
  }
  const auto with_momentum = [&o]<class T>(T* w, const T* g, T* const* state, Index n) {
    const T rate = static_cast<T>(o.rate), decay = static_cast<T>(o.weight_decay);
    const T keep = static_cast<T>(o.momentum);
    T* __restrict momentum = state[0];
    for (Index i = 0; i < n; ++i) {
      const T d = g[i] + decay * w[i];
      momentum[i] = keep * momentum[i] + d;
      w[i] -= rate * (o.nesterov ? d + keep * momentum[i] : momentum[i]);
    }
  };
  run(StepRule::of("sgd", {"momentum"}, with_momentum, on_device, held(*of.update)));
}

void Sgd::step(Parameter& p, const Tensor& gradient, const Update& update) const {
  const ParameterStep one{&p, &gradient, &update};
  step({&one, 1});
}

void Sgd::step(std::span<const ParameterStep> steps) const {
  check(options);
  Steps all;
  all.run(steps, [&](const ParameterStep& s) { all.step(options, s); });
}

}  // namespace sten
