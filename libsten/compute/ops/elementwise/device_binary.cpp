// SPDX-License-Identifier: Apache-2.0
// Binary operators, comparisons and where on a device.
#include "libsten/compute/ops/common/broadcast.h"
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/device.h"
#include "libsten/compute/ops/common/device_walk.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/elementwise/binary.h"
#include "libsten/compute/ops/elementwise/comparison.h"
#include "libsten/compute/ops/elementwise/where.h"

namespace sten {
namespace {

using kernels::ElementKind, kernels::MapAxes;

// Axes of two or more operands that are broadcast to `shape`.
template <class... T>
MapAxes axes_of(std::string_view op, const Shape& shape, const T&... operands) {
  return map_axes_on_device(op, shape, {broadcast_strides(operands.shape(), shape)...});
}

Outputs binary_on_device(const BinaryRow& row, const Call& call) {
  const Shape shape = check_binary(row, call);
  const Tensor &a = call.in[0], &b = call.in[1];
  const float *x = floats_on_device(row.name, a), *y = floats_on_device(row.name, b);
  const MapAxes axes = axes_of(row.name, shape, a, b);
  return {output_of(shape, &kernels::MapFunctions::binary, row.function, axes, x, y)};
}

// Gradient of add and sub.
Outputs sum_grad_on_device(const std::string& op, bool is_sub, const Call& call) {
  check_sum_grad(op, call);
  const Dense& dy = call.in[0].as<Dense>();
  const float* from = floats_on_device(op, call.in[0]);
  Outputs out(2);
  for (std::size_t i = 0; i < 2; ++i) {
    if (!call.wants(i)) continue;
    Dense all = dy;
    if (i == 1 && is_sub) {
      all = output_on_device(dy.extents);
      float* to = floats_of_output(all);
      launch(&kernels::MapFunctions::map, kernels::UnaryFunction::neg,
             kernels::UnaryParameters<float>{}, dy.size(), from, to);
    }
    const Shape& shape = call.shapes[i];
    out[i] = shape == dy.extents ? std::move(all) : sum_to_on_device(op, all, shape);
  }
  return out;
}

Outputs binary_grad_on_device(const BinaryRow& row, const std::string& op, const Call& call) {
  const Shape shape = check_binary_grad(row, op, call);
  const Tensor &dy = call.in[0], &a = call.in[1], &b = call.in[2];
  const float *from = floats_on_device(op, dy), *x = floats_on_device(op, a),
              *y = floats_on_device(op, b);
  const MapAxes axes = axes_of(op, shape, a, b);
  Outputs out(2);
  for (int i = 0; i < 2; ++i) {
    if (!call.wants(static_cast<std::size_t>(i))) continue;
    Dense all =
        output_of(shape, &kernels::MapFunctions::binary_grad, row.function, i, axes, from, x, y);
    const Shape own = (i == 0 ? a : b).shape();
    out[static_cast<std::size_t>(i)] =
        own == shape ? std::move(all) : sum_to_on_device(op, all, own);
  }
  return out;
}

const std::byte* bytes_on_device(const Tensor& x) { return x.as<Dense>().values.bytes().data(); }
const std::uint8_t* truth_on_device(const Tensor& x) {
  return reinterpret_cast<const std::uint8_t*>(bytes_on_device(x));
}

Outputs compare_on_device(const ComparisonRow& row, const Call& call) {
  const Shape shape = check_comparison(row, call);
  const Tensor &a = call.in[0], &b = call.in[1];
  const ElementKind kind = kind_on_device(row.name, a.dtype());
  if (row.is_logical != (kind == ElementKind::truth))
    fail_unsupported("{} on a device does not support {} and {}", row.name, name_of(a.dtype()),
                     name_of(b.dtype()));
  const MapAxes axes = axes_of(row.name, shape, a, b);
  Dense z = output_on_device(shape, DType::BOOL);
  auto* to = reinterpret_cast<std::uint8_t*>(z.values.mutate_bytes());
  launch(&kernels::MapFunctions::compare, row.function, kind, axes, bytes_on_device(a),
         bytes_on_device(b), to);
  return {std::move(z)};
}

Outputs test_one_on_device(const char* op, kernels::UnaryTest test, DType dtype, const Call& call) {
  const Tensor& x = call.in[0];
  if (x.dtype() != dtype)
    fail_unsupported("{} on a device supports {}, got {}", op, name_of(dtype), name_of(x.dtype()));
  Dense y = output_on_device(x.shape(), DType::BOOL);
  auto* to = reinterpret_cast<std::uint8_t*>(y.values.mutate_bytes());
  launch(&kernels::MapFunctions::test_one, test, y.size(), bytes_on_device(x), to);
  return {std::move(y)};
}

Outputs is_inf_on_device(const Call& call) {
  const auto [negative, positive] = InfinityCall(call);
  using enum kernels::UnaryTest;
  if (!negative && !positive)
    fail_unsupported("is-inf of neither sign is not supported on a device");
  return test_one_on_device("is-inf",
                            !negative   ? is_plus_inf
                            : !positive ? is_minus_inf
                                        : is_inf,
                            DType::F32, call);
}

Outputs where_on_device(const Call& call) {
  const Shape shape = check_where(call);
  const Tensor &condition = call.in[0], &x = call.in[1], &y = call.in[2];
  const MapAxes axes = axes_of("where", shape, condition, x, y);
  Dense z = output_on_device(shape, x.dtype());
  std::byte* to = z.values.mutate_bytes();
  launch(&kernels::MapFunctions::choose, width_of(x.dtype()), axes, truth_on_device(condition),
         bytes_on_device(x), bytes_on_device(y), to);
  return {std::move(z)};
}

// The chosen operand gets dy, the other 0.
Outputs where_grad_on_device(const Call& call) {
  constexpr const char* op = "where.grad";
  check_where_grad(call);
  const Tensor &dy = call.in[0], &condition = call.in[1];
  const Shape shapes[] = {call.in[2].shape(), call.in[3].shape()}, shape = dy.shape();
  const float* from = floats_on_device(op, dy);
  const MapAxes axes = axes_of(op, shape, condition, dy);
  Outputs out(3);
  for (std::size_t i = 1; i < 3; ++i) {
    if (!call.wants(i)) continue;
    Dense all = output_of(shape, &kernels::MapFunctions::keep_chosen, i == 1, axes,
                          truth_on_device(condition), from);
    out[i] = shapes[i - 1] == shape ? std::move(all) : sum_to_on_device(op, all, shapes[i - 1]);
  }
  return out;
}

}  // namespace

void add_device_binary(Operators& all) {
  for (const BinaryRow& row : binary_rows()) {
    const std::string grad = std::string(row.name) + ".grad";
    add_device_operator(all, row.name, 2,
                        [&row](const Call& call) { return binary_on_device(row, call); });
    if (row.saves == SavedForBackward::nothing)
      add_device_operator(
          all, grad, 1,
          [grad, is_sub = row.function == kernels::BinaryFunction::sub](const Call& call) {
            return sum_grad_on_device(grad, is_sub, call);
          },
          2);
    else
      add_device_operator(
          all, grad, 3,
          [&row, grad](const Call& call) { return binary_grad_on_device(row, grad, call); }, 2);
  }
  for (const ComparisonRow& row : comparison_rows())
    add_device_operator(all, row.name, 2,
                        [&row](const Call& call) { return compare_on_device(row, call); });
  add_device_operator(all, "is-inf", 1, is_inf_on_device);
  add_device_operator(all, "is-nan", 1, [](const Call& call) {
    call.attributes.check("is-nan", {});
    return test_one_on_device("is-nan", kernels::UnaryTest::is_nan, DType::F32, call);
  });
  add_device_operator(all, "not", 1, [](const Call& call) {
    call.attributes.check("not", {});
    return test_one_on_device("not", kernels::UnaryTest::logical_not, DType::BOOL, call);
  });
  add_device_operator(all, "where", 3, where_on_device);
  add_device_operator(all, "where.grad", 4, where_grad_on_device, 3);
}

}  // namespace sten
