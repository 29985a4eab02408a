// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/images/conv.h"

#include <algorithm>

#include "libsten/core/layout/masked.h"

namespace sten {

ConvCall::ConvCall(std::string_view op, bool transposed, const Call& call, std::size_t first)
    : has_residual(op == "conv-relu" && call.attributes.integer("residual", 0) != 0) {
  has_bias = call.in.size() - (has_residual ? 1 : 0) > first + 2;
  const Tensor &x = call.in[first], &w = call.in[first + 1];
  const Shape from = x.shape(), weight = w.shape();
  const auto& a = call.attributes;
  if (transposed)
    a.check(op, {"strides", "dilations", "pads", "groups", "output-padding"});
  else if (op == "conv-relu")
    a.check(op, {"strides", "dilations", "pads", "groups", "residual"});
  else
    a.check(op, {"strides", "dilations", "pads", "groups"});
  const std::size_t axes = from.size() < 2 ? 0 : from.size() - 2;
  if (axes < 1 || axes > 3)
    fail_usage("{}: x must be [N, spatial..., C] with 1 to 3 spatial axes, got {}", op,
               to_string(from));
  if (weight.size() != from.size())
    fail_usage("{}: x is {} but w is {}", op, to_string(from), to_string(weight));
  c.groups = a.integer("groups", 1);
  c.batch = from.front();
  const Index channels = transposed ? weight[0] : weight[1] * c.groups;
  if (c.groups < 1 || weight[0] < 1 || weight[1] < 1 || weight[0] % c.groups != 0 ||
      from.back() != channels)
    fail_usage("{}: x is {}, channels last, and w is {} of {} groups: {}", op, to_string(from),
               to_string(weight), c.groups,
               from.back() != channels ? "w expects " + std::to_string(channels) + " channels"
                                       : "the groups do not divide its channels");
  c.out = weight[0];
  c.in = weight[1] * c.groups;
  if (has_bias) {
    const Shape b = call.in[first + 2].shape();
    if (b != Shape{transposed ? c.in : c.out})
      fail_usage("{}: b is {} but the result has {} channels", op, to_string(b),
                 transposed ? c.in : c.out);
    check_dtypes(op, "x", x.dtype(), "b", call.in[first + 2].dtype());
  }
  check_dtypes(op, "x", x.dtype(), "w", w.dtype());
  const auto list = [&](const char* name, std::size_t count, Index fallback, Index least) {
    const Attributes::List all = a.list(name, Attributes::List(count, fallback));
    if (all.size() != count ||
        std::ranges::any_of(all, [=](Index i) { return i < least || i > (Index{1} << 31); }))
      fail_usage("{}: {} is {} and x is {}: expected {} integers >= {}", op, name, to_string(all),
                 to_string(from), count, least);
    return all;
  };
  const Attributes::List strides = list("strides", axes, 1, 1),
                         spread = list("dilations", axes, 1, 1),
                         pads = list("pads", 2 * axes, 0, 0);
  const Attributes::List more =
      transposed ? list("output-padding", axes, 0, 0) : Attributes::List(axes);
  result = {c.batch};
  // The spatial axes are the last of three, so that the innermost loop is long.
  for (std::size_t d = 0; d < axes; ++d) {
    const std::size_t to = 3 - axes + d;
    const Index kernel = weight[d + 2], size = from[d + 1];
    const Index span = (kernel - 1) * spread[d] + 1, pad = pads[d] + pads[axes + d];
    if (kernel < 1)
      fail_usage("{}: the kernel of w must be 1 or larger, got {}", op, to_string(weight));
    const Index other = transposed ? (size - 1) * strides[d] + span - pad + more[d]
                                   : (size + pad - span) / strides[d] + 1;
    if (size < 1 || other < 1 || (!transposed && size + pad < span))
      fail_usage("{}: x is {}, w is {}, padding {}: the window does not fit axis {}", op,
                 to_string(from), to_string(weight), to_string(pads), d + 1);
    c.kernel[to] = kernel;
    c.stride[to] = strides[d];
    c.dilation[to] = spread[d];
    c.before[to] = pads[d];
    c.size[to] = transposed ? other : size;
    c.result[to] = transposed ? size : other;
    result.push_back(other);
  }
  result.push_back(transposed ? c.in : c.out);
  checked_size(result);
  if (op == "conv-relu" &&
      call.in.size() != first + 2 + (has_bias ? 1 : 0) + (has_residual ? 1 : 0))
    fail_usage("{}: {} inputs do not fit residual={}", op, call.in.size(), has_residual ? 1 : 0);
  if (has_residual) {
    if (call.in.back().shape() != result)
      fail_usage("{}: the residual is {} but the result is {}", op,
                 to_string(call.in.back().shape()), to_string(result));
    check_dtypes(op, "x", x.dtype(), "the residual", call.in.back().dtype());
  }
  if (!has_dense_values(w) && c.groups != 1)
    fail_unsupported("conv: not implemented for a sparse weight with {} groups", c.groups);
  if (first == 0) return;
  check_gradient(op, call.in[0].as<Dense>(), result);
  check_dtypes(op, "x", x.dtype(), "the gradient", call.in[0].dtype());
}

}  // namespace sten
