// Convolutions and their gradients by the formula, see kernels/convolution.h.
#pragma once
#include "kernels/convolution.h"

namespace sten::kernels {

// y = x * w + b; b [out] may be nullptr.
template <class T>
void convolve_reference(const Convolution& c, const T* x, const T* w, const T* b, T* y);
// The gradient of x.
template <class T>
void convolve_data_reference(const Convolution& c, const T* dy, const T* w, T* dx);
// The gradient of w.
template <class T>
void convolve_weights_reference(const Convolution& c, const T* x, const T* dy, T* dw);

}  // namespace sten::kernels
