// SPDX-License-Identifier: Apache-2.0
// Cumulative sums along an axis, and triangles of matrices.
#include <algorithm>
#include <cstring>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/plain.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/reductions/rows.h"

namespace sten {
namespace {

template <class T, class Sum>
void sum_up(const T* x, Index n, bool is_exclusive, bool is_reverse, T* y) {
  Sum sum = 0;
  for (Index k = 0; k < n; ++k) {
    const Index i = is_reverse ? n - 1 - k : k;
    const Sum before = sum;
    sum += static_cast<Sum>(x[i]);
    y[i] = static_cast<T>(is_exclusive ? before : sum);
  }
}

// The gradient is the same in the opposite direction.
Tensor cumulative(const char* op, bool is_gradient, const Call& call) {
  call.attributes.check(op, {"axis", "exclusive", "reverse"});
  const Dense& x = call.in[0].as<Dense>();
  const Index axis = axis_of(op, integer_of(op, call, 1, "axis", 0), x.extents);
  const bool is_exclusive = call.attributes.integer("exclusive", 0) != 0;
  const bool is_reverse = (call.attributes.integer("reverse", 0) != 0) != is_gradient;
  const Rows lines(x, axis);
  Values v = Values::uninitialized(x.dtype(), x.size());
  const auto run = [&]<class T, class Sum>(T, Sum) {
    const T* from = lines.x.values.as<T>().data();
    T* to = v.mutate<T>().data();
    const Index n = lines.length;
    lines.each(
        [&](Index i) { sum_up<T, Sum>(from + i * n, n, is_exclusive, is_reverse, to + i * n); });
  };
  if (x.dtype() == DType::I64)
    run(std::int64_t{}, std::uint64_t{});
  else if (x.dtype() == DType::I32)
    run(std::int32_t{}, std::uint64_t{});
  else
    with_real(op, x.dtype(), [&]<class T>(T) { run(T{}, double{}); });
  return lines.back(std::move(v));
}

// Keeps the elements of row r from column r + k on, or up to it; others are 0.
Tensor triangle(const char* op, const Call& call) {
  call.attributes.check(op, {"upper", "k"});
  const Dense& x = call.in[0].as<Dense>();
  if (x.extents.size() < 2)
    fail_usage("{}: x must have 2 or more axes, got {}", op, to_string(x.extents));
  const bool is_upper = call.attributes.integer("upper", 1) != 0;
  const Index rows = x.extents[x.extents.size() - 2], cols = x.extents.back();
  // Larger values have the same effect.
  const Index k = std::clamp(integer_of(op, call, 1, "k", 0), -rows, cols);
  Dense y = Dense::zeros(x.dtype(), x.extents);
  if (x.size() == 0) return y;
  const Index width = x.values.width();
  const std::byte* from = x.values.bytes().data();
  std::byte* to = y.values.mutate_bytes();
  parallel_for(x.size() / cols, std::max<Index>(1, (Index{1} << 14) / cols),
               [&](Index begin, Index end) {
                 for (Index i = begin; i < end; ++i) {
                   const Index at = i % rows + k;
                   const Index first = is_upper ? std::clamp<Index>(at, 0, cols) : 0;
                   const Index last = is_upper ? cols : std::clamp<Index>(at + 1, 0, cols);
                   std::memcpy(to + (i * cols + first) * width, from + (i * cols + first) * width,
                               (last - first) * width);
                 }
               });
  return y;
}

}  // namespace

void add_scans(Operators& all) {
  add_plain(
      all, "cum-sum", SavedForBackward::others,
      [](const Call& call) {
        check_inputs("cum-sum", call, 2);
        return cumulative("cum-sum", false, call);
      },
      [](const Call& call) { return cumulative("cum-sum.grad", true, call); });
  add_plain(
      all, "trilu", SavedForBackward::others,
      [](const Call& call) {
        check_inputs("trilu", call, 2);
        return triangle("trilu", call);
      },
      [](const Call& call) { return triangle("trilu.grad", call); });
}

}  // namespace sten
