// SPDX-License-Identifier: Apache-2.0
// Selection of elements by conditions, and tensors of 0 and 1.
#include <algorithm>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/elements.h"
#include "libsten/compute/ops/common/indices.h"
#include "libsten/compute/ops/common/plain.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/common/strided_copy.h"
#include "libsten/compute/ops/shapes/gathered_slices.h"

namespace sten {
namespace {

// The indices of nonzero elements of any dtype, in order, one per column.
Tensor non_zero(const Call& call) {
  call.attributes.check("non-zero", {});
  check_inputs("non-zero", call, 1);
  const Dense& x = call.in[0].as<Dense>();
  const Values truths = as_dtype("non-zero", x.values, DType::BOOL);
  const auto is = truths.as<std::uint8_t>();
  const Index rank = std::ssize(x.extents), count = x.size() - std::ranges::count(is, 0);
  Dense y{{rank, count}, Values::uninitialized(DType::I64, rank * count)};
  std::int64_t* to = y.values.mutate<std::int64_t>().data();
  Index column = 0;
  for (Index i = 0; i < x.size(); ++i) {
    if (!is[i]) continue;
    Index rest = i;
    for (Index d = rank; d-- > 0; rest /= x.extents[d])
      to[d * count + column] = rest % x.extents[d];
    ++column;
  }
  return y;
}

// The slices of an axis (without one, the elements) whose condition is true. The condition may be
// shorter than the axis.
GatheredSlices compressed_from(const char* op, const Call& call, const Shape& x) {
  call.attributes.check(op, {"axis"});
  const Dense& condition = call.in[1].as<Dense>();
  if (condition.dtype() != DType::BOOL || condition.extents.size() != 1)
    fail_usage("{}: the condition must be BOOL with one axis, got {} {}", op,
               name_of(condition.dtype()), to_string(condition.extents));
  const bool has_axis = call.attributes.has("axis");
  const Index axis = has_axis ? axis_of(op, call.attributes.integer("axis", 0), x) : 0;
  const Shape from = has_axis ? x : Shape{size_of(x)};
  if (condition.size() > from[axis])
    fail_usage("{}: the condition has {} elements, more than axis {} of x {}", op, condition.size(),
               axis, to_string(from));
  GatheredSlices p{{}, StridedView::of(from).steps[axis], from};
  p.shape[axis] = 0;
  std::vector<Index> chosen;
  for (const std::uint8_t c : condition.values.as<std::uint8_t>()) {
    if (c) chosen.push_back(p.shape[axis]);
    ++p.shape[axis];
  }
  p.shape[axis] = std::ssize(chosen);
  Index outer = 1;
  for (Index d = 0; d < axis; ++d) outer *= from[d];
  for (Index i = 0; i < outer; ++i)
    for (const Index k : chosen) p.at.push_back((i * from[axis] + k) * p.n);
  return p;
}

Tensor compress(const Call& call) {
  if (call.in.size() != 2)
    fail_usage("compress: expected 2 inputs (x, condition), got {}", call.in.size());
  const Dense& x = call.in[0].as<Dense>();
  return gather_slices(x, compressed_from("compress", call, x.extents));
}
Tensor compress_grad(const Call& call) {
  const char* op = "compress.grad";
  const Shape& x = input_shape(op, call, 0);
  return gather_slices_grad(op, call.in[0].as<Dense>(), x, compressed_from(op, call, x));
}

// The integer value of an input of one element, of any dtype.
Index number_of(const char* op, const char* name, const Dense& x) {
  if (x.size() != 1)
    fail_usage("{}: {} must be a scalar, got shape {}", op, name, to_string(x.extents));
  return as_dtype(op, x.values, DType::I64).as<std::int64_t>()[0];
}

// Inputs: indices, depth, and values [off, on], of any dtypes. An index outside of [-depth, depth)
// gives a row of `off`.
Tensor one_hot(const Call& call) {
  constexpr const char* op = "one-hot";
  call.attributes.check(op, {"axis"});
  if (call.in.size() != 3)
    fail_usage("{}: expected 3 inputs (indices, depth, values), got {}", op, call.in.size());
  const Dense &ids = call.in[0].as<Dense>(), &values = call.in[2].as<Dense>();
  const Index depth = number_of(op, "the depth", call.in[1].as<Dense>());
  if (depth < 0) fail_usage("{}: the depth must be >= 0, got {}", op, depth);
  if (values.extents != Shape{2})
    fail_usage("{}: the values must be of shape [2], got {}", op, to_string(values.extents));
  Shape shape = ids.extents;
  shape.push_back(depth);
  const Index axis = axis_of(op, call.attributes.integer("axis", -1), shape);
  shape.pop_back();
  shape.insert(shape.begin() + axis, depth);
  checked_size(shape);
  const Values numbers = as_dtype(op, ids.values, DType::I64);
  Index inner = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= shape[d];
  Dense y{shape, Values::uninitialized(values.dtype(), size_of(shape))};
  with_width(y.values.width(), [&]<class U>(U) {
    const auto value = values.values.as<U>();
    const std::span<U> to = y.values.mutate<U>();
    std::ranges::fill(to, value[0]);
    Index i = 0;
    for (Index id : numbers.as<std::int64_t>()) {
      if (id < 0) id += depth;
      if (id >= 0 && id < depth) to[(i / inner * depth + id) * inner + i % inner] = value[1];
      ++i;
    }
  });
  return y;
}

// A matrix of x's shape: 1 on diagonal k, else 0.
Tensor eye_like(const Call& call) {
  call.attributes.check("eye-like", {"dtype", "k"});
  check_inputs("eye-like", call, 1);
  const Dense& x = call.in[0].as<Dense>();
  if (x.extents.size() != 2)
    fail_usage("eye-like: x must be a matrix, got {}", to_string(x.extents));
  DType dtype = x.dtype();
  if (call.attributes.has("dtype")) {
    const std::string name = call.attributes.word("dtype", "");
    const std::optional<DType> wanted = dtype_from(name);
    if (!wanted) fail_usage("eye-like: unknown dtype '{}' of the attribute 'dtype'", name);
    dtype = *wanted;
  }
  Values truth(DType::BOOL, 1);
  truth.mutate<std::uint8_t>()[0] = 1;
  const Values one = as_dtype("eye-like", truth, dtype);
  const Index rows = x.extents[0], cols = x.extents[1];
  const Index k = std::clamp(call.attributes.integer("k", 0), -rows, cols);
  Dense y = Dense::zeros(dtype, x.extents);
  for (Index r = std::max<Index>(0, -k); r < rows && r + k < cols; ++r)
    y.values.put(r * cols + r + k, one, 0);
  return y;
}

}  // namespace

void add_masking(Operators& all) {
  add_plain(all, "non-zero", SavedForBackward::nothing, non_zero);
  add_plain(all, "compress", SavedForBackward::others, compress, compress_grad);
  add_plain(all, "one-hot", SavedForBackward::nothing, one_hot);
  add_plain(all, "eye-like", SavedForBackward::nothing, eye_like);
}

}  // namespace sten
