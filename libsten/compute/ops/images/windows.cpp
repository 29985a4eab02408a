// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/images/windows.h"

#include "libsten/core/base/error.h"

namespace sten {
namespace {

constexpr Index longest_window = Index{1} << 31;  // so that products of two do not overflow

Attributes::List window_integers(std::string_view op, const Attributes& a, const char* name,
                                 std::size_t count, Index fallback, Index least) {
  const Attributes::List all = a.list(name, Attributes::List(count, fallback));
  if (all.size() != count ||
      std::ranges::any_of(all, [=](Index i) { return i < least || i > longest_window; }))
    fail_usage("{}: {} is {}: expected {} integers >= {}", op, name, to_string(all), count, least);
  return all;
}

}  // namespace

Windows Windows::sliding(std::string_view op, const Shape& x, const Attributes& a,
                         std::initializer_list<std::string_view> more) {
  for (const auto& [name, value] : a.all())
    if (std::ranges::find(more, name) == more.end())
      Attributes().set(name, value).check(op, {"kernel", "strides", "pads", "dilations", "ceil"});
  Windows w(op, x);
  const std::size_t axes = w.axes;
  const Attributes::List kernel = window_integers(op, a, "kernel", axes, 0, 1),
                         strides = window_integers(op, a, "strides", axes, 1, 1),
                         pads = window_integers(op, a, "pads", 2 * axes, 0, 0),
                         dilations = window_integers(op, a, "dilations", axes, 1, 1);
  const bool ceil = a.integer("ceil", 0) != 0;
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t d = w.first() + i;
    w.kernel_[d] = kernel[i];
    w.stride_[d] = strides[i];
    w.dilation_[d] = dilations[i];
    w.before_[d] = pads[i];
    w.after_[d] = pads[axes + i];
    const Index room = w.size[d] + pads[i] + pads[axes + i] - (kernel[i] - 1) * dilations[i] - 1;
    if (room < 0)
      fail_usage("{}: x is {}, the kernel {}, padding {}: the window does not fit axis {}", op,
                 to_string(x), to_string(kernel), to_string(pads), i + 1);
    Index& count = w.result[d];
    count = (ceil ? ceil_div(room, strides[i]) : room / strides[i]) + 1;
    // No window starts in the padding after x.
    if (ceil && (count - 1) * strides[i] >= w.size[d] + pads[i]) --count;
  }
  return w;
}

Windows Windows::adaptive(std::string_view op, const Shape& x, const Attributes& a) {
  a.check(op, {"size"});
  Windows w(op, x);
  w.is_adaptive_ = true;
  const Attributes::List size = window_integers(op, a, "size", w.axes, 0, 1);
  for (std::size_t i = 0; i < w.axes; ++i) w.result[w.first() + i] = size[i];
  return w;
}

WindowRun Windows::along(std::size_t d, Index o) const {
  const Index n = size[d];
  if (is_adaptive_) {
    const Index first = o * n / result[d], until = ceil_div((o + 1) * n, result[d]);
    return {first, until - first, 1, until - first};
  }
  const Index start = o * stride_[d] - before_[d], step = dilation_[d];
  // The number of elements below `end`, which is not negative.
  const auto below = [&](Index end) {
    return start >= end ? 0 : std::min(kernel_[d], ceil_div(end - start, step));
  };
  const Index skipped = start < 0 ? std::min(kernel_[d], ceil_div(-start, step)) : 0;
  return {start + skipped * step, std::max<Index>(0, below(n) - skipped), step,
          below(n + after_[d])};
}

Index Windows::taps(const std::array<Index, 3>& o, bool count_pads, std::vector<Index>& to) const {
  const WindowRun a = along(0, o[0]), b = along(1, o[1]), c = along(2, o[2]);
  to.clear();
  for (Index i = 0; i < a.count; ++i)
    for (Index j = 0; j < b.count; ++j) {
      const Index row = ((a.first + i * a.step) * size[1] + b.first + j * b.step) * size[2];
      for (Index k = 0; k < c.count; ++k) to.push_back((row + c.first + k * c.step) * channels);
    }
  return count_pads ? a.counted * b.counted * c.counted : static_cast<Index>(to.size());
}

}  // namespace sten
