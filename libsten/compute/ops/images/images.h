// SPDX-License-Identifier: Apache-2.0
// Image operators besides conv() and batch_norm() of operators.h. x is [N, spatial..., C] with 1 to
// 3 spatial axes S; attributes are lists of a number per spatial axis.
#pragma once
#include "libsten/compute/ops/common/operators.h"

namespace sten {

// Maximum or mean of each window per channel: [N, S'..., C]. Attributes: kernel; strides, dilations
// (1s); pads (before all axes, then after; 0s); ceil (0): with 1, the last window may extend beyond
// the padding, but not start in it. S' = (S + pads - (kernel - 1) * dilation - 1) / stride
// + 1, rounded down, or up with ceil. A mean includes padding only with count-pads=1. The gradient
// of a maximum goes to the first of equals in row-major order; NaN is the largest value.
template <Operand T>
T max_pool(const T& x, const Attributes& a, const Formats& f = Formats::dense()) {
  return ops_detail::call<"max-pool">({x}, a, f);
}
template <Operand T>
T average_pool(const T& x, const Attributes& a, const Formats& f = Formats::dense()) {
  return ops_detail::call<"average-pool">({x}, a, f);
}
// The same for windows that give the result the extents `size`: position o covers the elements from
// floor(o S / size) to ceil((o + 1) S / size).
template <Operand T>
T adaptive_max_pool(const T& x, const Attributes::List& size, const Formats& f = Formats::dense()) {
  return ops_detail::call<"adaptive-max-pool">({x}, Attributes().set("size", size), f);
}
template <Operand T>
T adaptive_average_pool(const T& x, const Attributes::List& size,
                        const Formats& f = Formats::dense()) {
  return ops_detail::call<"adaptive-average-pool">({x}, Attributes().set("size", size), f);
}

// (x - mean) / sqrt(variance + eps) * gamma[C] + beta[C], with the moments of each image and group
// of neighbouring channels.
template <Operand T>
T group_norm(const T& x, const std::type_identity_t<T>& gamma, const std::type_identity_t<T>& beta,
             Index groups, double eps = 1e-5, const Formats& f = Formats::dense()) {
  return ops_detail::call<"group-norm">({x, gamma, beta},
                                        Attributes().set("groups", groups).set("eps", eps), f);
}
// The same per image and channel.
template <Operand T>
T instance_norm(const T& x, const std::type_identity_t<T>& gamma,
                const std::type_identity_t<T>& beta, double eps = 1e-5,
                const Formats& f = Formats::dense()) {
  return ops_detail::call<"instance-norm">({x, gamma, beta}, Attributes().set("eps", eps), f);
}

// x / (bias + alpha / size * sum of x^2 over `size` channels around each)^beta. For an even size,
// the extra channel is after the centre, as in ONNX. Attributes: size, alpha (1e-4), beta (0.75),
// bias (1).
template <Operand T>
T lrn(const T& x, const Attributes& a, const Formats& f = Formats::dense()) {
  return ops_detail::call<"lrn">({x}, a, f);
}

// Resizes to `size`, or by `scales`: a number for all axes, or a string such as "2,1.5". If both
// are given, scales determine coordinates. By name, a second input may have either, for all axes of
// x. Attributes as in ONNX's Resize: mode (nearest): nearest, linear, cubic, with the coefficient
// cubic (-0.75) and exclude-outside (0); coordinates (half-pixel): half-pixel, pytorch-half-pixel,
// half-pixel-symmetric, asymmetric, align-corners; nearest (round-prefer-floor):
// round-prefer-floor, round-prefer-ceil, floor, ceil.
template <Operand T>
T resize(const T& x, const Attributes& a, const Formats& f = Formats::dense()) {
  return ops_detail::call<"resize">({x}, a, f);
}

}  // namespace sten
