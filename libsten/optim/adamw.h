// Adam with decoupled weight decay (Loshchilov, Hutter 2019).
#pragma once
#include "libsten/optim/parameter.h"

namespace sten {

struct AdamWOptions {
  double rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
};

// As torch.optim.AdamW, at the parameter's step t = 1, 2, ...:
//   w -= rate * weight_decay * w
//   m += (1 - beta1) (g - m);  v += (1 - beta2) (g^2 - v)
//   w -= rate * m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)
// It holds no state itself: one serves any number of parameters, and its options may change between
// steps. State: "m", "v", and "step", which is t, I64 of shape [] and
// on the CPU.
class AdamW {
 public:
  explicit AdamW(AdamWOptions options = {}) : options(options) {}

  // See step_elements() for what the weight and its gradient may be. Error (usage) for options that
  // have no meaning; eps has to be above 0, so that what has no gradient stays.
  void step(Parameter& p, const Tensor& gradient, const Update& update = {}) const;
  // One after the other, with the same results; on a device those whose positions stay are few kernels
  // for all of them. If one throws, those before it are done.
  void step(std::span<const ParameterStep> steps) const;

  AdamWOptions options;

 private:
  class Steps;
};

}  // namespace sten
