// Convolutions as dense products with patches of x, which are gathered a tile at a time: for any
// extents, and with any library that multiplies matrices.
#pragma once
#include "kernels/convolution.h"

namespace sten {

using kernels::Convolution;

// As those of convolution.h.
void convolve_by_product(const Convolution& c, const float* x, const float* w, const float* b,
                         float* y);
void convolve_data_by_product(const Convolution& c, const float* dy, const float* w, float* dx);
void convolve_weights_by_product(const Convolution& c, const float* x, const float* dy, float* dw);

// The patch of the place o of one image's y, [taps, in / groups], of group g.
void gather_patch(const Convolution& c, const float* image, kernels::Convolution::Index place,
                  kernels::Convolution::Index group, float* patch);

// In how many pieces of its places a gradient of the weights is summed: as many as are worth one.
kernels::Convolution::Index weight_pieces(const Convolution& c);

}  // namespace sten
