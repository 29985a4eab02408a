// SPDX-License-Identifier: Apache-2.0
// Convolutions of 3x3 and stride 1 by Winograd's minimal filtering (kernels/winograd.h): a quarter
// of the products, plus transforms of inputs and outputs.
#pragma once
#include "kernels/convolution.h"
#include "libsten/compute/linalg/convolution_end.h"

namespace sten {

using kernels::Convolution;

// Whether Winograd applies: kernel 3x3, stride 1, two spatial axes, no groups, no dilation.
bool has_winograd(const Convolution& c);
// The number of tiles of 4x4 output positions.
Convolution::Index winograd_tiles(const Convolution& c);

// Like the functions of convolution.h.
void convolve_by_winograd(const Convolution& c, const float* x, const float* w, const float* b,
                          float* y, const ConvolutionEnd& end);
void convolve_data_by_winograd(const Convolution& c, const float* dy, const float* w, float* dx);
void convolve_weights_by_winograd(const Convolution& c, const float* x, const float* dy, float* dw);

// Transformed weights, and the convolution with them.
Convolution::Index winograd_filter_size(const Convolution& c);
void winograd_filter(const Convolution& c, const float* w, float* filter);
void convolve_by_winograd_filter(const Convolution& c, const float* x, const float* filter,
                                 const float* b, float* y, const ConvolutionEnd& end);

}  // namespace sten
