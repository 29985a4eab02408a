#include "libsten/optim/sgd.h"

#include "libsten/optim/step.h"

namespace sten {
namespace {

void check(const SgdOptions& o) {
  if (!(o.rate >= 0)) fail_usage("sgd: a rate of {}", o.rate);
  if (!(o.momentum >= 0)) fail_usage("sgd: a momentum of {}", o.momentum);
  if (!(o.weight_decay >= 0)) fail_usage("sgd: a weight decay of {}", o.weight_decay);
  if (o.nesterov && o.momentum == 0) fail_usage("sgd: Nesterov's needs a momentum");
}

}  // namespace

void Sgd::step(Parameter& p, const Tensor& gradient, const Update& update) const {
  check(options);
  const SgdOptions& o = options;
  const auto there = [&o](const kernels::StepFunctions& steps, const kernels::StepElements& x,
                          float* const* state, kernels::Stream stream) {
    const kernels::SgdStep s{static_cast<float>(o.rate), static_cast<float>(o.weight_decay),
                             static_cast<float>(o.momentum), o.nesterov};
    steps.sgd(x, s, o.momentum == 0 ? nullptr : state[0], stream);
  };
  if (o.momentum == 0) {
    const auto plain = [&o]<class T>(T* w, const T* g, T* const*, Index n) {
      const T rate = static_cast<T>(o.rate), decay = static_cast<T>(o.weight_decay);
      for (Index i = 0; i < n; ++i) w[i] -= rate * (g[i] + decay * w[i]);
    };
    return step_elements(p, gradient, update, StepRule::of("sgd", {}, plain, there));
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
  step_elements(p, gradient, update, StepRule::of("sgd", {"momentum"}, with_momentum, there));
}

}  // namespace sten
