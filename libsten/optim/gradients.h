// What is done to gradients before they are stepped along: norms, clipping, sums.
#pragma once
#include <vector>

#include "kernels/block/step_functions.h"
#include "libsten/tensor/tensor.h"

namespace sten {

// The sum of squares of w's gradient at the positions that w has, in double, in one pass; the same
// bits at any number of threads. The gradient is dense, or in w's positions and layout.
// On a device in the same order, and read back.
double squared_norm(const Tensor& gradient, const Tensor& w);

// The norm of several gradients on a device, added up as squared_norm() of each in turn, and what
// they have to be multiplied by so that it is `clip` at most, min(1, clip / (norm + 1e-6)), as
// torch.nn.utils.clip_grad_norm_: one number each, which stay there. The norm is written to `norm_to`
// of the device's memory where that is not nullptr, and is not an array then.
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

// sum += g, in place where nobody else holds the sum. Both in the same layout and positions, and on
// the same device.
void add_gradient(Tensor& sum, const Tensor& g);

// Sums of gradients, each of another one. Small ones on a device wait for others, and are one
// kernel then; none is whole before finish().
class GradientSums {
 public:
  GradientSums() = default;
  GradientSums(const GradientSums&) = delete;
  GradientSums& operator=(const GradientSums&) = delete;

  // As add_gradient(). Till the end the sum is not to be changed.
  void add(Tensor& sum, Tensor g);
  void finish();

 private:
  std::vector<kernels::AddedElements> waiting_;
  std::vector<Tensor> held_;  // the gradients that it points to
};

}  // namespace sten
