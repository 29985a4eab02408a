// Stochastic gradient descent.
#pragma once
#include "libsten/optim/parameter.h"

namespace sten {

struct SgdOptions {
  double rate = 1e-3;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
};

// As torch.optim.SGD, with dampening 0:
//   g += weight_decay * w;  momentum = options.momentum * momentum + g
//   w -= rate * momentum, or with Nesterov's (Sutskever et al. 2013)
//   w -= rate * (g + options.momentum * momentum)
// It holds no state itself: one serves any number of parameters, and its options may change between
// steps. State: "momentum", if momentum is used.
class Sgd {
 public:
  explicit Sgd(SgdOptions options = {}) : options(options) {}

  // See step_elements() for what the weight and its gradient may be. Error (usage) for options that
  // have no meaning.
  void step(Parameter& p, const Tensor& gradient, const Update& update = {}) const;
  // One after the other, with the same results; on a device those whose positions stay are few kernels
  // for all of them. If one throws, those before it are done.
  void step(std::span<const ParameterStep> steps) const;

  SgdOptions options;

 private:
  class Steps;
};

}  // namespace sten
