// SPDX-License-Identifier: Apache-2.0
// AdamW: Adam with decoupled weight decay (Loshchilov, Hutter 2019).
#pragma once
#include "libsten/training/optim/parameter.h"

namespace sten {

struct AdamWOptions {
  double rate = 1e-3;
  double beta1 = 0.9, beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
};

// Computes the step of torch.optim.AdamW for the parameter's step t = 1, 2, ...:
//   w -= rate * weight_decay * w
//   m += (1 - beta1) (g - m);  v += (1 - beta2) (g^2 - v)
//   w -= rate * m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps)
// An object has no state: it serves any number of parameters, and its options may change between
// steps. State of a parameter: "m", "v", and "step" (t), I64 of shape [] on the CPU.
class AdamW {
 public:
  explicit AdamW(AdamWOptions options = {}) : options(options) {}

  // One step of p. step_elements() lists the valid weights and gradients. Error (usage) for invalid
  // options; eps must be above 0, so that elements without gradient stay unchanged.
  void step(Parameter& p, const Tensor& gradient, const Update& update = {}) const;
  // Steps of several parameters, with the results of one step after another. On a device, steps
  // that keep the positions share few kernels. After an exception, the earlier steps are done.
  void step(std::span<const ParameterStep> steps) const;

  AdamWOptions options;

 private:
  class Steps;
};

}  // namespace sten
