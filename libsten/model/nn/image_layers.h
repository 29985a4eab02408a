// SPDX-License-Identifier: Apache-2.0
// Modules of images x[N, H, W, C], channels last. Names, shapes and initial values of weights are
// those of torch.nn. Kernels, strides and padding are the same for both axes.
#pragma once
#include "libsten/model/nn/layers.h"

namespace sten {

struct Windows2d {
  Index kernel = 1, stride = 1, padding = 0, dilation = 1;
};

// Convolution with weight[out, in / groups, kernel, kernel] and bias[out]; see conv(). Initial
// weights are uniform in [-b, b) with b = 1 / sqrt(in / groups * kernel^2).
class Conv2d : public Module {
 public:
  Conv2d(Index in, Index out, const Windows2d& windows, Index groups = 1, bool bias = true);
  Var forward(const Var& x) const;

 private:
  Attributes attributes_;
  const ModuleWeight& weight_;
  const ModuleWeight* bias_;
};

// Normalizes each channel: by the moments of the batch in training, which the buffers running_mean
// and running_var follow with the momentum, with the unbiased variance; by these buffers otherwise.
// A graph traced in training has them as running statistics.
class BatchNorm2d : public Module {
 public:
  explicit BatchNorm2d(Index channels, double eps = 1e-5, double momentum = 0.1);
  Var forward(const Var& x) const;

 private:
  double eps_, momentum_;
  const ModuleWeight &weight_, &bias_;
  ModuleWeight &mean_, &variance_;
};

// The maximum, or the mean, of each window; padding does not count.
class MaxPool2d : public Module {
 public:
  explicit MaxPool2d(const Windows2d& windows);
  Var forward(const Var& x) const;

 private:
  Attributes attributes_;
};
class AvgPool2d : public Module {
 public:
  explicit AvgPool2d(const Windows2d& windows);
  Var forward(const Var& x) const;

 private:
  Attributes attributes_;
};

// Means of windows that make the result [N, size, size, C].
class AdaptiveAvgPool2d : public Module {
 public:
  explicit AdaptiveAvgPool2d(Index size) : size_(size) {}
  Var forward(const Var& x) const;

 private:
  Index size_;
};

}  // namespace sten
