// SPDX-License-Identifier: Apache-2.0
// Convolutions and their gradients (kernels/convolution.h) as plain loops.
#pragma once
#include "kernels/convolution.h"

namespace sten::kernels {

// y = x * w + b; b [out], nullptr: 0.
template <class T>
void convolve_reference(const Convolution& c, const T* x, const T* w, const T* b, T* y);
// Gradient with respect to x.
template <class T>
void convolve_data_reference(const Convolution& c, const T* dy, const T* w, T* dx);
// Gradient with respect to w.
template <class T>
void convolve_weights_reference(const Convolution& c, const T* x, const T* dy, T* dw);

}  // namespace sten::kernels
