// What the convolutions of all layouts share.
#pragma once
#include "libsten/linalg/convolution.h"
#include "libsten/ops/check.h"
#include "libsten/ops/output.h"
#include "libsten/product/panels.h"

namespace sten {

// Of one call, checked. A transposed convolution takes y to x: it is the gradient of x in a
// convolution with the same weight, and its own gradients are the other two.
struct ConvCall {
  Convolution c;
  Shape result;  // of the operator
  bool has_bias, has_residual;

  // x, w and perhaps a bias are the call's inputs from `first` on; of conv-relu with residual=1 the
  // last one is what is added to the result. Error (usage) where they, or the attributes, do not fit
  // each other.
  ConvCall(std::string_view op, bool transposed, const Call& call, std::size_t first);
};

// y of x [N, spatial..., C] and a sparse w, and what the epilogue makes of it. Unsupported, which is an
// Error (usage), for layouts without products and for groups.
void convolve_sparse(const Convolution& c, const float* x, const Tensor& w, float* y,
                     const Epilogue& epilogue);

// An output that `fill(T* to)` computes as a whole.
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
