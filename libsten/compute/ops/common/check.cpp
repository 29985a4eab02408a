// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/common/check.h"

namespace sten {

Index axis_of(std::string_view op, Index axis, const Shape& x) {
  const Index rank = std::ssize(x), i = axis < 0 ? axis + rank : axis;
  if (i < 0 || i >= rank) fail_usage("{}: {} has no axis {}", op, to_string(x), axis);
  return i;
}

void check_dtypes(std::string_view op, std::string_view a_name, DType a, std::string_view b_name,
                  DType b) {
  if (a != b)
    fail_usage("{}: {} is {} but {} is {}", op, a_name, sten::name_of(a), b_name, sten::name_of(b));
}

void check_alike(std::string_view op, std::string_view a_name, const Dense& a,
                 std::string_view b_name, const Dense& b) {
  check_dtypes(op, a_name, a.dtype(), b_name, b.dtype());
  if (a.extents != b.extents)
    fail_usage("{}: {} is {} but {} is {}", op, a_name, to_string(a.extents), b_name,
               to_string(b.extents));
}

const Shape& input_shape(std::string_view op, const Call& call, std::size_t i) {
  if (i >= call.shapes.size()) fail_usage("{}: missing shapes of the operator's inputs", op);
  return call.shapes[i];
}

void check_gradient(std::string_view op, const Dense& dy, const Shape& shape) {
  if (dy.extents != shape)
    fail_usage("{}: the gradient is {} but the output is {}", op, to_string(dy.extents),
               to_string(shape));
}

bool is_plain(const OutFormat& f) {
  static const Name keep_all(KeepAll::name);
  return &f == &OutFormat::dense() || (f.inline_by.name() == keep_all && f.tmp.is(Dense::name));
}

}  // namespace sten
