// SPDX-License-Identifier: Apache-2.0
#include "kernels/reference/convolution.h"

#include <algorithm>

namespace sten::kernels {
namespace {

using Index = Convolution::Index;

// Position in x of tap t for output position o of an axis; -1 if it is outside of x.
Index at(const Convolution& c, int axis, Index o, Index t) {
  const Index i = o * c.stride[axis] - c.before[axis] + t * c.dilation[axis];
  return i >= 0 && i < c.size[axis] ? i : -1;
}

// Calls f(pixel of x, output position, tap) for each tap inside of x, within one image.
template <class F>
void each_pair(const Convolution& c, F f) {
  for (Index o0 = 0; o0 < c.result[0]; ++o0)
    for (Index o1 = 0; o1 < c.result[1]; ++o1)
      for (Index o2 = 0; o2 < c.result[2]; ++o2)
        for (Index t0 = 0; t0 < c.kernel[0]; ++t0)
          for (Index t1 = 0; t1 < c.kernel[1]; ++t1)
            for (Index t2 = 0; t2 < c.kernel[2]; ++t2) {
              const Index i0 = at(c, 0, o0, t0), i1 = at(c, 1, o1, t1), i2 = at(c, 2, o2, t2);
              if (i0 < 0 || i1 < 0 || i2 < 0) continue;
              f((i0 * c.size[1] + i1) * c.size[2] + i2, (o0 * c.result[1] + o1) * c.result[2] + o2,
                (t0 * c.kernel[1] + t1) * c.kernel[2] + t2);
            }
}

// Calls f(element of x, element of y, element of w) for each multiplication.
template <class F>
void each_product(const Convolution& c, F f) {
  const Index in = c.group_in(), out = c.group_out(), taps = c.taps();
  for (Index n = 0; n < c.batch; ++n)
    each_pair(c, [&](Index pixel, Index place, Index tap) {
      for (Index g = 0; g < c.groups; ++g)
        for (Index k = g * out; k < (g + 1) * out; ++k)
          for (Index i = 0; i < in; ++i)
            f((n * c.pixels() + pixel) * c.in + g * in + i,
              (n * c.output_positions() + place) * c.out + k, (k * in + i) * taps + tap);
    });
}

}  // namespace

template <class T>
void convolve_reference(const Convolution& c, const T* x, const T* w, const T* b, T* y) {
  for (Index i = 0; i < c.batch * c.output_positions() * c.out; ++i) y[i] = b ? b[i % c.out] : T{0};
  each_product(c, [=](Index at_x, Index at_y, Index at_w) { y[at_y] += x[at_x] * w[at_w]; });
}

template <class T>
void convolve_data_reference(const Convolution& c, const T* dy, const T* w, T* dx) {
  std::fill_n(dx, c.batch * c.pixels() * c.in, T{0});
  each_product(c, [=](Index at_x, Index at_y, Index at_w) { dx[at_x] += dy[at_y] * w[at_w]; });
}

template <class T>
void convolve_weights_reference(const Convolution& c, const T* x, const T* dy, T* dw) {
  std::fill_n(dw, c.out * c.group_in() * c.taps(), T{0});
  each_product(c, [=](Index at_x, Index at_y, Index at_w) { dw[at_w] += dy[at_y] * x[at_x]; });
}

template void convolve_reference(const Convolution&, const float*, const float*, const float*,
                                 float*);
template void convolve_reference(const Convolution&, const double*, const double*, const double*,
                                 double*);
template void convolve_data_reference(const Convolution&, const float*, const float*, float*);
template void convolve_data_reference(const Convolution&, const double*, const double*, double*);
template void convolve_weights_reference(const Convolution&, const float*, const float*, float*);
template void convolve_weights_reference(const Convolution&, const double*, const double*, double*);

}  // namespace sten::kernels
