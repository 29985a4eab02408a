// SPDX-License-Identifier: Apache-2.0
// Operators that compute rows along an axis.
#pragma once
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/core/tensor/transpose.h"

namespace sten {

// The rows of a tensor [..., length, inner] along its middle axis.
struct AxisRows {
  Index length, inner = 1;

  AxisRows(const Shape& shape, Index axis) : length(shape[axis]) {
    for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  }
};

// The axis of softmax or log-softmax; or, with two inputs, of the gradient from that of the output
// and the output. Error (usage) for attributes and gradients that do not fit.
inline Index softmax_axis(std::string_view op, const Call& call) {
  const Dense& x = call.in.back().as<Dense>();
  if (call.in.size() == 2) check_alike(op, "the gradient", call.in[0].as<Dense>(), "the output", x);
  call.attributes.check(op, {"axis"});
  return axis_of(op, call.attributes.integer("axis", -1), x.extents);
}

// Calls f(const T* a, const T* b, T* to, Index length) for each row of a and b, which have the same
// shape, on threads(). Rows along another axis than the last are gathered before, and scattered
// after.
template <class T, class F>
Tensor write_rows(const OutFormat& format, const Dense& a, const Dense& b, Index axis, F f) {
  const T *pa = a.values.as<T>().data(), *pb = b.values.as<T>().data();
  const AxisRows lines(a.extents, axis);
  const Index n = lines.length, inner = lines.inner;
  if (inner == 1)
    return write_elements<T>(format, a.extents, n, [&](Index begin, Index end, T* to) {
      for (Index i = begin; i < end; i += n) f(pa + i, pb + i, to + (i - begin), n);
    });
  constexpr Index at_once = 16;
  return write_elements<T>(format, a.extents, n * inner, [&](Index begin, Index end, T* to) {
    std::vector<T> buffer(3 * at_once * n);
    T *la = buffer.data(), *lb = la + at_once * n, *out = lb + at_once * n;
    for (Index i = begin; i < end; i += n * inner)
      for (Index c = 0; c < inner; c += at_once) {
        const Index count = std::min(at_once, inner - c);
        transpose(pa + i + c, inner, n, count, la, n);
        if (pb != pa) transpose(pb + i + c, inner, n, count, lb, n);
        for (Index k = 0; k < count; ++k)
          f(la + k * n, (pb != pa ? lb : la) + k * n, out + k * n, n);
        transpose(out, n, count, n, to + (i - begin) + c, inner);
      }
  });
}

}  // namespace sten
