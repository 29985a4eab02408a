// Convolutions of dense channels-last activations and their gradients, float32, on threads()
// threads, by whatever is fastest on this machine. The same bits on any number of threads.
#pragma once
#include "kernels/convolution.h"

namespace sten {

using kernels::Convolution;

// y = x * w + b, as kernels/convolution.h says; b [out] may be nullptr.
void convolve(const Convolution& c, const float* x, const float* w, const float* b, float* y);
// The gradient of x.
void convolve_data(const Convolution& c, const float* dy, const float* w, float* dx);
// The gradient of w.
void convolve_weights(const Convolution& c, const float* x, const float* dy, float* dw);

}  // namespace sten
