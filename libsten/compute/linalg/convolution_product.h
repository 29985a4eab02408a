// SPDX-License-Identifier: Apache-2.0
// Convolutions as dense products with im2col patches of x, gathered a tile at a time: for all
// extents and every library of dense products.
#pragma once
#include "kernels/convolution.h"
#include "libsten/compute/linalg/convolution_end.h"

namespace sten {

using kernels::Convolution;

// Like the functions of convolution.h.
void convolve_by_product(const Convolution& c, const float* x, const float* w, const float* b,
                         float* y, const ConvolutionEnd& end);
void convolve_data_by_product(const Convolution& c, const float* dy, const float* w, float* dx);
void convolve_weights_by_product(const Convolution& c, const float* x, const float* dy, float* dw);

// Whether x equals its patches: kernel 1x1, stride 1, no padding, no groups.
bool is_pointwise(const Convolution& c);

// Gathers the patch of an output position of one image in the order of w's rows, [in, taps];
// without groups.
void gather_patch_by_channel(const Convolution& c, const float* image, Convolution::Index place,
                             float* patch);
// The inverse: adds a patch to the pixels it covers.
void add_patch_by_channel(const Convolution& c, const float* patch, Convolution::Index place,
                          float* image);

// The number of segments of output positions over which a gradient of the weights is summed.
Convolution::Index weight_segments(const Convolution& c);

}  // namespace sten
