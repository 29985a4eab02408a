// SPDX-License-Identifier: Apache-2.0
// Operations on gradients before an optimizer step: norms, clipping, sums.
#pragma once
#include <vector>

#include "kernels/block/step_functions.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

// The sum of squares of the gradient at the positions of w, in double, in one pass; deterministic
// for every number of threads. The gradient is dense or has the positions and layout of w. On a
// device, computed in the same order and copied to the CPU.
double squared_norm(const Tensor& gradient, const Tensor& w);

// The norm of several gradients on a device, added up as squared_norm() of each, and the factor
// min(1, clip / (norm + 1e-6)) that clips them to norm `clip`, as in
// torch.nn.utils.clip_grad_norm_. Both are one element on the device. If norm_to is not nullptr,
// the norm is written to this device memory, and `norm` is empty.
struct DeviceNorm {
  Array<double> norm;
  Array<float> scale;
};
struct GradientOf {
  const Tensor* gradient;
  const Tensor* weight;
};
DeviceNorm norm_on_device(std::span<const GradientOf> gradients, double clip,
                          double* norm_to = nullptr);

// Computes sum += g, in place if nothing else shares the sum. Both have the same layout, positions
// and device.
void add_gradient(Tensor& sum, const Tensor& g);

// Sums of several gradients. Small gradients on a device are collected and summed by one kernel;
// sums are complete after finish().
class GradientSums {
 public:
  GradientSums() = default;
  GradientSums(const GradientSums&) = delete;
  GradientSums& operator=(const GradientSums&) = delete;

  // Like add_gradient(). The sum must not change before finish().
  void add(Tensor& sum, Tensor g);
  void finish();

 private:
  std::vector<kernels::AddedElements> waiting_;
  std::vector<Tensor> held_;  // keeps the collected gradients alive
};

}  // namespace sten
