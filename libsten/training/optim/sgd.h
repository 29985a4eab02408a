// SPDX-License-Identifier: Apache-2.0
// Stochastic gradient descent.
#pragma once
#include "libsten/training/optim/parameter.h"

namespace sten {

struct SgdOptions {
  double rate = 1e-3;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
};

// Computes the step of torch.optim.SGD with dampening 0:
//   g += weight_decay * w;  momentum = options.momentum * momentum + g
//   w -= rate * momentum, or with Nesterov momentum (Sutskever et al. 2013)
//   w -= rate * (g + options.momentum * momentum)
// An object has no state: it serves any number of parameters, and its options may change between
// steps. State of a parameter: "momentum", if momentum is used.
class Sgd {
 public:
  explicit Sgd(SgdOptions options = {}) : options(options) {}

  // One step of p. step_elements() lists the valid weights and gradients. Error (usage) for invalid
  // options.
  void step(Parameter& p, const Tensor& gradient, const Update& update = {}) const;
  // Steps of several parameters, with the results of one step after another. On a device, steps
  // that keep the positions share few kernels. After an exception, the earlier steps are done.
  void step(std::span<const ParameterStep> steps) const;

  SgdOptions options;

 private:
  class Steps;
};

}  // namespace sten
