// SPDX-License-Identifier: Apache-2.0
// Checked calls of convolutions, for all weight layouts.
#pragma once
#include "libsten/compute/linalg/convolution.h"
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/product/panels.h"

namespace sten {

// Operands and attributes of a call. A transposed convolution maps y to x: it is the gradient of x
// in a convolution with the same weight, and its gradients are the other two functions of that
// convolution.
struct ConvCall {
  Convolution c;
  Shape result;  // of the operator
  bool has_bias, has_residual;

  // x, w and an optional bias are the inputs from `first` on; with residual=1 of conv-relu, the
  // last input is added to the result. In a gradient `first` is 1, and input 0 is that of the result.
  // Error (usage) if operands or attributes do not fit together; Unsupported for a sparse w in
  // groups.
  ConvCall(std::string_view op, bool transposed, const Call& call, std::size_t first);
};

// y of x [N, spatial..., C] and a sparse w, with an epilogue. Unsupported, an Error (usage), for
// layouts without products.
void convolve_sparse(const Convolution& c, const float* x, const Tensor& w, float* y,
                     const Epilogue& epilogue);

// An output that `fill(T* to)` computes at once.
template <class T, class F>
Tensor write_whole(const OutFormat& format, const Shape& shape, F&& fill) {
  OutputRows<T> out(format, shape);
  if (size_of(shape) == 0) return out.take();
  if (T* to = out.in_place()) {
    fill(to);
    return out.take();
  }
  std::vector<T> all(size_of(shape));
  fill(all.data());
  out.write(0, out.rows(), all.data());
  return out.take();
}

}  // namespace sten
