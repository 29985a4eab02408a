// Operators on images beside conv() and batch_norm() of operators.h: x is [N, spatial..., C] with 1 to 3
// spatial axes S. Each attribute is a list with a number for each of these.
#pragma once
#include "libsten/ops/operators.h"

namespace sten {

// The largest, or the mean, of each window, channel by channel: [N, S'..., C]. Attributes: kernel;
// strides, dilations (1s), pads (before the axes, then after; 0s); ceil (0): with 1, a last window may
// reach beyond the padding, where it begins before that. S' = (S + pads - (kernel - 1) * dilation - 1) /
// stride + 1, rounded down, or up with ceil. What pads counts for a mean only with count-pads=1. The
// gradient of a maximum is that of the first of equals in row-major order; NaN is larger than all.
template <Operand T>
T max_pool(const T& x, const Attributes& a, const Formats& f = Formats::dense()) {
  static const Name op("max-pool");
  return ops_detail::call(op, {x}, a, f);
}
template <Operand T>
T average_pool(const T& x, const Attributes& a, const Formats& f = Formats::dense()) {
  static const Name op("average-pool");
  return ops_detail::call(op, {x}, a, f);
}
// The same with windows such that the result has the extents `size`: place o is of the elements from
// o S / size, rounded down, to (o + 1) S / size, rounded up.
template <Operand T>
T adaptive_max_pool(const T& x, const Attributes::List& size, const Formats& f = Formats::dense()) {
  static const Name op("adaptive-max-pool");
  return ops_detail::call(op, {x}, Attributes().set("size", size), f);
}
template <Operand T>
T adaptive_average_pool(const T& x, const Attributes::List& size,
                        const Formats& f = Formats::dense()) {
  static const Name op("adaptive-average-pool");
  return ops_detail::call(op, {x}, Attributes().set("size", size), f);
}

// (x - mean) / sqrt(variance + eps) * gamma[C] + beta[C], with the moments of each image and group of
// neighbouring channels.
template <Operand T>
T group_norm(const T& x, const std::type_identity_t<T>& gamma, const std::type_identity_t<T>& beta,
             Index groups, double eps = 1e-5, const Formats& f = Formats::dense()) {
  static const Name op("group-norm");
  return ops_detail::call(op, {x, gamma, beta}, Attributes().set("groups", groups).set("eps", eps),
                          f);
}
// Of each image and channel.
template <Operand T>
T instance_norm(const T& x, const std::type_identity_t<T>& gamma,
                const std::type_identity_t<T>& beta, double eps = 1e-5,
                const Formats& f = Formats::dense()) {
  static const Name op("instance-norm");
  return ops_detail::call(op, {x, gamma, beta}, Attributes().set("eps", eps), f);
}

// x / (bias + alpha / size * the sum of x^2 over `size` channels around each)^beta; of an even size,
// one more behind it than before it, as in ONNX. Attributes: size, alpha (1e-4), beta (0.75), bias (1).
template <Operand T>
T lrn(const T& x, const Attributes& a, const Formats& f = Formats::dense()) {
  static const Name op("lrn");
  return ops_detail::call(op, {x}, a, f);
}

// Other extents: `size`, or `scales`, a number for all axes or a word such as "2,1.5", which also say
// where elements are if both are given; by name, a second input may have either, for all axes of x. mode (nearest): nearest, linear; coordinates (half-pixel):
// half-pixel, pytorch-half-pixel, half-pixel-symmetric, asymmetric, align-corners; nearest
// (round-prefer-floor): round-prefer-floor, round-prefer-ceil, floor, ceil. All as ONNX's Resize.
template <Operand T>
T resize(const T& x, const Attributes& a, const Formats& f = Formats::dense()) {
  static const Name op("resize");
  return ops_detail::call(op, {x}, a, f);
}

}  // namespace sten
