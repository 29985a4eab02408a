// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/optim/adamw.h"

#include <cmath>

#include "kernels/functions.h"
#include "libsten/training/optim/step.h"

namespace sten {
namespace {

void check(const AdamWOptions& o) {
  if (!(o.rate >= 0)) fail_usage("adamw: rate must be >= 0, got {}", o.rate);
  for (const double beta : {o.beta1, o.beta2})
    if (!(beta >= 0 && beta < 1)) fail_usage("adamw: beta must be in [0, 1), got {}", beta);
  if (!(o.eps > 0)) fail_usage("adamw: eps must be > 0, got {}", o.eps);
  if (!(o.weight_decay >= 0))
    fail_usage("adamw: weight_decay must be >= 0, got {}", o.weight_decay);
}

std::int64_t steps_of(const Parameter& p) {
  const auto at = p.state.find("step");
  if (at == p.state.end()) return 0;
  const bool is_at_hand = at->second.is<Dense>() && at->second.device() == Device::cpu;
  const Dense made = is_at_hand ? Dense() : at->second.to_dense().to(Device::cpu);
  const Dense& t = is_at_hand ? at->second.as<Dense>() : made;
  if (t.dtype() != DType::I64 || !t.extents.empty() || t.values.as<std::int64_t>()[0] < 0)
    fail_usage("adamw: the state \"step\" of {} must be an I64 scalar >= 0", quote(p.name));
  return t.values.as<std::int64_t>()[0];
}

}  // namespace

class AdamW::Steps : public DeviceSteps<kernels::AdamWElements> {
 public:
  Steps() : DeviceSteps(&kernels::StepFunctions::adamw) {}
  void step(const AdamWOptions& o, const ParameterStep& of);
};

void AdamW::Steps::step(const AdamWOptions& o, const ParameterStep& of) {
  Parameter& p = *of.parameter;
  const std::int64_t steps = steps_of(p) + 1;
  const double t = static_cast<double>(steps);
  const double unbias = o.rate / (1 - std::pow(o.beta1, t));
  const double unbias_root = 1 / std::sqrt(1 - std::pow(o.beta2, t));
  // In float32, w - decay * w is more exact than (1 - decay) * w for a small decay.
  const kernels::AdamWStep s{static_cast<float>(o.rate * o.weight_decay),
                             static_cast<float>(unbias),
                             static_cast<float>(unbias_root),
                             static_cast<float>(o.eps),
                             static_cast<float>(1 - o.beta1),
                             static_cast<float>(1 - o.beta2)};
  const auto f32 = [&](float* w, const float* g, float* const* state, Index n) {
    kernels::functions().adamw(s, w, g, state[0], state[1], n);
  };
  const auto on_device = [&](const kernels::StepFunctions&, const kernels::StepElements& x,
                             float* const* state, kernels::Stream) {
    add({x, s, state[0], state[1]}, *of.update);
  };
  const auto f64 = [&](double* w, const double* g, double* const* state, Index n) {
    double *m = state[0], *v = state[1];
    for (Index i = 0; i < n; ++i) {
      m[i] += (1 - o.beta1) * (g[i] - m[i]);
      v[i] += (1 - o.beta2) * (g[i] * g[i] - v[i]);
      w[i] -=
          o.rate * o.weight_decay * w[i] + unbias * m[i] / (std::sqrt(v[i]) * unbias_root + o.eps);
    }
  };
  step_elements(p, *of.gradient, *of.update,
                {"adamw", {"m", "v"}, f32, f64, on_device, held(*of.update)});
  const auto write = [&](Values& v) { v.mutate<std::int64_t>()[0] = steps; };
  const auto at = p.state.find("step");
  const bool is_at_hand =
      at != p.state.end() && at->second.is<Dense>() && at->second.device() == Device::cpu;
  if (is_at_hand && at->second.overwrite(write)) return;
  Dense count = Dense::zeros(DType::I64, {});
  write(count.values);
  p.state.insert_or_assign("step", std::move(count));
}

void AdamW::step(Parameter& p, const Tensor& gradient, const Update& update) const {
  const ParameterStep one{&p, &gradient, &update};
  step({&one, 1});
}

void AdamW::step(std::span<const ParameterStep> steps) const {
  check(options);
  Steps all;
  all.run(steps, [&](const ParameterStep& s) { all.step(options, s); });
}

}  // namespace sten
