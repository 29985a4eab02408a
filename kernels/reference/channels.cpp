// SPDX-License-Identifier: Apache-2.0
#include "kernels/channels.h"

namespace sten::kernels {
namespace {

using Size = std::int64_t;

float scaled(const ChannelScale& s, float x, Size c) { return s.a[c] * x + s.b[c]; }

float gradient(const ChannelScale& s, float dy, float x, Size c) {
  return s.relu && !(scaled(s, x, c) > 0) ? 0 : dy;
}

void add_moments(const float* x, Size rows, Size n, const float* shift, double* sums,
                 double* squares) {
  for (Size r = 0; r < rows; ++r)
    for (Size c = 0; c < n; ++c) {
      const float d = x[r * n + c] - shift[c];
      sums[c] += d;
      squares[c] += d * d;
    }
}

void scale(const float* x, Size rows, Size n, const ChannelScale& s, float* y) {
  for (Size r = 0; r < rows; ++r)
    for (Size c = 0; c < n; ++c) {
      const float v = scaled(s, x[r * n + c], c);
      y[r * n + c] = s.relu ? (v <= 0 ? 0 : v) : v;
    }
}

void add_gradients(const float* dy, const float* x, Size rows, Size n, const ChannelScale& s,
                   const float* mean, double* sums, double* products) {
  for (Size r = 0; r < rows; ++r)
    for (Size c = 0; c < n; ++c) {
      const float in = x[r * n + c], g = gradient(s, dy[r * n + c], in, c);
      sums[c] += g;
      products[c] += g * (in - mean[c]);
    }
}

void scale_grad(const float* dy, const float* x, Size rows, Size n, const ChannelScale& s,
                const float* by, const float* more, float* dx) {
  for (Size r = 0; r < rows; ++r)
    for (Size c = 0; c < n; ++c) {
      const float in = x[r * n + c], g = gradient(s, dy[r * n + c], in, c);
      dx[r * n + c] = s.a[c] * g + (by[c] * in + more[c]);
    }
}

}  // namespace

const ChannelsTable* channels_reference() {
  static constexpr ChannelsTable table{add_moments, scale, add_gradients, scale_grad};
  return &table;
}

}  // namespace sten::kernels
