// Convolutions as dense products with patches of x (im2col), gathered a tile at a time: for any
// extents, and with any library that multiplies matrices.
#pragma once
#include "kernels/convolution.h"
#include "libsten/linalg/convolution_end.h"

namespace sten {

using kernels::Convolution;

// As those of convolution.h.
void convolve_by_product(const Convolution& c, const float* x, const float* w, const float* b,
                         float* y, const ConvolutionEnd& end);
void convolve_data_by_product(const Convolution& c, const float* dy, const float* w, float* dx);
void convolve_weights_by_product(const Convolution& c, const float* x, const float* dy, float* dw);

// Whether x is its own patches: of 1x1 and stride 1, without padding or groups.
bool is_pointwise(const Convolution& c);

// The patch of a place of one image's y as a row of w's matrix has it, [in, taps]; no groups.
void gather_patch_by_channel(const Convolution& c, const float* image, Convolution::Index place,
                             float* patch);
// Adds it to the pixels that it came from.
void add_patch_by_channel(const Convolution& c, const float* patch, Convolution::Index place,
                          float* image);

// In how many pieces of its places a gradient of the weights is summed: as many as are worth one.
Convolution::Index weight_segments(const Convolution& c);

}  // namespace sten
