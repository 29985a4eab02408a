// Binary operators, comparisons and where on a device.
#include "libsten/compute/ops/common/broadcast.h"
#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/ops/common/device.h"
#include "libsten/compute/ops/common/device_walk.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/elementwise/binary.h"

namespace sten {
namespace {

using kernels::ElementKind, kernels::MapAxes, kernels::BinaryTest;

Outputs binary_on_device(const BinaryRow& row, const Call& call) {
  call.attributes.check(row.name, {});
  const Tensor &a = call.in[0], &b = call.in[1];
  if (row.function != kernels::BinaryFunction::pow)
    check_dtypes(row.name, "a", a.dtype(), "b", b.dtype());
  const float *x = floats_on_device(row.name, a), *y = floats_on_device(row.name, b);
  const Shape p = a.shape(), q = b.shape(), shape = broadcast_shape(row.name, p, q);
  const MapAxes axes = map_axes_on_device(
      row.name, shape, {broadcast_strides(p, shape), broadcast_strides(q, shape)});
  Dense z = output_on_device(shape);
  float* to = floats_of_output(z);
  launch(&kernels::MapFunctions::binary, row.function, axes, x, y, to);
  return {std::move(z)};
}

// Gradient of add and sub.
Outputs sum_grad_on_device(const std::string& op, bool is_sub, const Call& call) {
  const Dense& dy = call.in[0].as<Dense>();
  const Shape &a = input_shape(op, call, 0), &b = input_shape(op, call, 1);
  check_gradient(op, dy, broadcast_shape(op, a, b));
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
  const Tensor &dy = call.in[0], &a = call.in[1], &b = call.in[2];
  const float *from = floats_on_device(op, dy), *x = floats_on_device(op, a),
              *y = floats_on_device(op, b);
  const Shape p = a.shape(), q = b.shape(), shape = broadcast_shape(op, p, q);
  check_gradient(op, dy.as<Dense>(), shape);
  const MapAxes axes =
      map_axes_on_device(op, shape, {broadcast_strides(p, shape), broadcast_strides(q, shape)});
  Outputs out(2);
  for (int i = 0; i < 2; ++i) {
    if (!call.wants(static_cast<std::size_t>(i))) continue;
    Dense all = output_on_device(shape);
    float* to = floats_of_output(all);
    launch(&kernels::MapFunctions::binary_grad, row.function, i, axes, from, x, y, to);
    const Shape& own = i == 0 ? p : q;
    out[static_cast<std::size_t>(i)] =
        own == shape ? std::move(all) : sum_to_on_device(op, all, own);
  }
  return out;
}

const std::byte* bytes_on_device(const Tensor& x) { return x.as<Dense>().values.bytes().data(); }
const std::uint8_t* truth_on_device(const Tensor& x) {
  return reinterpret_cast<const std::uint8_t*>(bytes_on_device(x));
}

struct TestRow {
  const char* op;
  BinaryTest test;
  bool is_swapped = false, is_logic = false;
};
constexpr TestRow test_rows[] = {
    {"equal", BinaryTest::equal},
    {"less", BinaryTest::less},
    {"greater", BinaryTest::less, true},
    {"less-or-equal", BinaryTest::less_or_equal},
    {"greater-or-equal", BinaryTest::less_or_equal, true},
    {"and", BinaryTest::logical_and, false, true},
    {"or", BinaryTest::logical_or, false, true},
    {"xor", BinaryTest::logical_xor, false, true},
};

Outputs test_on_device(const TestRow& row, const Call& call) {
  call.attributes.check(row.op, {});
  const Tensor &a = call.in[row.is_swapped ? 1 : 0], &b = call.in[row.is_swapped ? 0 : 1];
  const ElementKind kind = kind_on_device(row.op, a.dtype());
  if (a.dtype() != b.dtype() || row.is_logic != (kind == ElementKind::truth))
    fail_unsupported("{} on a device does not support {} and {}", row.op, name_of(a.dtype()),
                     name_of(b.dtype()));
  const Shape p = a.shape(), q = b.shape();
  const Shape shape = broadcast_shape(row.op, call.in[0].shape(), call.in[1].shape());
  const MapAxes axes =
      map_axes_on_device(row.op, shape, {broadcast_strides(p, shape), broadcast_strides(q, shape)});
  Dense z = output_on_device(shape, DType::BOOL);
  auto* to = reinterpret_cast<std::uint8_t*>(z.values.mutate_bytes());
  launch(&kernels::MapFunctions::test, row.test, kind, axes, bytes_on_device(a), bytes_on_device(b),
         to);
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
  call.attributes.check("is-inf", {"detect-negative", "detect-positive"});
  const bool negative = call.attributes.integer("detect-negative", 1) != 0,
             positive = call.attributes.integer("detect-positive", 1) != 0;
  using enum kernels::UnaryTest;
  if (!negative && !positive)
    fail_unsupported("is-inf of neither sign is not supported on a device");
  return test_one_on_device("is-inf",
                            !negative   ? is_plus_inf
                            : !positive ? is_minus_inf
                                        : is_inf,
                            DType::F32, call);
}

const std::uint8_t* condition_on_device(const Tensor& condition) {
  if (condition.dtype() != DType::BOOL)
    fail_usage("where: the condition must be BOOL, got {}", name_of(condition.dtype()));
  return truth_on_device(condition);
}
Shape chosen_shape(const Shape& condition, const Shape& x, const Shape& y) {
  return broadcast_shape("where", condition, broadcast_shape("where", x, y, "x", "y"),
                         "the condition", "the choice");
}

Outputs where_on_device(const Call& call) {
  call.attributes.check("where", {});
  const Tensor &condition = call.in[0], &x = call.in[1], &y = call.in[2];
  const std::uint8_t* c = condition_on_device(condition);
  check_dtypes("where", "x", x.dtype(), "y", y.dtype());
  const Shape shape = chosen_shape(condition.shape(), x.shape(), y.shape());
  const MapAxes axes = map_axes_on_device(
      "where", shape,
      {broadcast_strides(condition.shape(), shape), broadcast_strides(x.shape(), shape),
       broadcast_strides(y.shape(), shape)});
  Dense z = output_on_device(shape, x.dtype());
  std::byte* to = z.values.mutate_bytes();
  launch(&kernels::MapFunctions::choose, width_of(x.dtype()), axes, c, bytes_on_device(x),
         bytes_on_device(y), to);
  return {std::move(z)};
}

// The chosen operand gets dy, the other 0.
Outputs where_grad_on_device(const Call& call) {
  constexpr const char* op = "where.grad";
  const Tensor &dy = call.in[0], &condition = call.in[1];
  const std::uint8_t* c = condition_on_device(condition);
  const Shape shapes[] = {call.in[2].shape(), call.in[3].shape()}, shape = dy.shape();
  check_gradient(op, dy.as<Dense>(), chosen_shape(condition.shape(), shapes[0], shapes[1]));
  const float* from = floats_on_device(op, dy);
  const MapAxes axes = map_axes_on_device(
      op, shape, {broadcast_strides(condition.shape(), shape), StridedView::of(shape).steps});
  Outputs out(3);
  for (std::size_t i = 1; i < 3; ++i) {
    if (!call.wants(i)) continue;
    Dense all = output_on_device(shape);
    float* to = floats_of_output(all);
    launch(&kernels::MapFunctions::keep_chosen, i == 1, axes, c, from, to);
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
  for (const TestRow& row : test_rows)
    add_device_operator(all, row.op, 2,
                        [&row](const Call& call) { return test_on_device(row, call); });
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
