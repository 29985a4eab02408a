// Convolutions of dense channels-last activations and their gradients, float32, on threads()
// threads. The same bits on any number of threads, as long as dense products come from the same library.
//
// Which way is taken depends on the extents alone: by minimal filtering (winograd.h) where that was
// measured to be faster, unless STEN_WINOGRAD is 0; else by oneDNN; else, or where that is not there,
// as dense products.
#pragma once
#include <memory>

#include "kernels/convolution.h"
#include "libsten/linalg/convolution_end.h"

namespace sten {

using kernels::Convolution;

// y = x * w + b, as kernels/convolution.h says, and its end; b [out] may be nullptr.
void convolve(const Convolution& c, const float* x, const float* w, const float* b, float* y,
              const ConvolutionEnd& end = {});
// The gradient of x.
void convolve_data(const Convolution& c, const float* dy, const float* w, float* dx);
// The gradient of w.
void convolve_weights(const Convolution& c, const float* x, const float* dy, float* dw);

// What convolutions with the same weights keep from call to call, in place of convolve(): nothing
// at the first one, since a step of training has no second one, then the weights as the way wants
// them. May be called by several threads.
class PackedWeightCache {
 public:
  PackedWeightCache();
  PackedWeightCache(PackedWeightCache&&) noexcept;
  ~PackedWeightCache();

  // `w` is the same in all calls.
  void convolve(const Convolution& c, const float* x, const float* w, const float* b, float* y,
                const ConvolutionEnd& end = {}) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sten
