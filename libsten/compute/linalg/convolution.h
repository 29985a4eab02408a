// SPDX-License-Identifier: Apache-2.0
// Convolutions of dense channels-last activations and their gradients, float32, on threads()
// threads. Results do not depend on the number of threads, as long as dense products use the same
// library.
//
// The algorithm depends only on the extents: Winograd (winograd.h) where it was measured to be
// faster, unless STEN_WINOGRAD=0; else oneDNN; else dense products.
#pragma once
#include <memory>

#include "kernels/convolution.h"
#include "libsten/compute/linalg/convolution_end.h"

namespace sten {

using kernels::Convolution;

// Computes y = x * w + b, with the shapes of kernels/convolution.h, then `end`. b [out] may be
// nullptr.
void convolve(const Convolution& c, const float* x, const float* w, const float* b, float* y,
              const ConvolutionEnd& end = {});
// Computes the gradient dx of x.
void convolve_data(const Convolution& c, const float* dy, const float* w, float* dx);
// Computes the gradient dw of w.
void convolve_weights(const Convolution& c, const float* x, const float* dy, float* dw);

// Cache of a weight packed for convolve(). The first call caches nothing, since a training step
// makes only one; the second packs the weight for its algorithm. Thread-safe.
class PackedWeightCache {
 public:
  PackedWeightCache();
  PackedWeightCache(PackedWeightCache&&) noexcept;
  ~PackedWeightCache();

  // Like convolve(); `w` must be the same in all calls.
  void convolve(const Convolution& c, const float* x, const float* w, const float* b, float* y,
                const ConvolutionEnd& end = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sten
