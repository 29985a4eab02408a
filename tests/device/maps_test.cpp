// SPDX-License-Identifier: Apache-2.0
// Elementwise operators, and operators that move elements, on a device.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "libsten/compute/autograd/tape.h"
#include "libsten/compute/ops/elementwise/binary.h"
#include "libsten/compute/ops/elementwise/comparison.h"
#include "libsten/compute/ops/elementwise/elementwise.h"
#include "libsten/compute/ops/elementwise/in_place.h"
#include "tests/autograd/operator_cases.h"
#include "tests/device/serial_backend.h"
#include "tests/support/laws.h"
#include "tests/support/sanitized.h"
#include "tests/support/strict.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

// The largest difference relative to the largest magnitude, or to 1/1000 if that is greater (the
// argument of a tail has few significant digits in float). Infinite if only one is NaN, or if bits
// differ for a dtype other than F32.
double difference(const Tensor& here, const Tensor& on_device) {
  REQUIRE(on_device.device() == Device::cuda);
  const Tensor back = on_device.to(Device::cpu);
  REQUIRE(back.shape() == here.shape());
  REQUIRE(back.dtype() == here.dtype());
  if (here.dtype() != DType::F32)
    return same_parts(here.save(), back.save()) ? 0 : std::numeric_limits<double>::infinity();
  const auto a = here.as<Dense>().values.as<float>(), b = back.as<Dense>().values.as<float>();
  double most = 1e-3, difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return std::numeric_limits<double>::infinity();
    if (std::isnan(a[i])) continue;
    if (std::isfinite(a[i])) most = std::max(most, double{std::abs(a[i])});
    if (a[i] == b[i]) continue;
    difference = std::max(difference, std::abs(double{a[i]} - double{b[i]}));
  }
  return difference / most;
}

// Checks that the output and gradients of an operator equal the CPU's, without copies back.
void check_on_device(const std::string& op, const std::vector<Tensor>& in,
                     const Attributes& attributes = {}, double most = 1e-6) {
  CAPTURE(op);
  std::string shapes;
  for (const Tensor& t : in) shapes += to_string(t.shape()) + " ";
  CAPTURE(shapes);
  const Strict strict;
  Tape here, on_device;
  std::vector<Var> a, b;
  for (const Tensor& t : in) {
    const bool is_real = t.dtype() == DType::F32;
    a.push_back(is_real ? here.parameter(t) : Var(t));
    b.push_back(is_real ? on_device.parameter(t.to(Device::cuda)) : Var(t.to(Device::cuda)));
  }
  const std::size_t downloads = SerialDevice::downloads();
  const Var y = here.apply(op, a, attributes), z = on_device.apply(op, b, attributes);
  CHECK(SerialDevice::downloads() == downloads);
  CHECK(difference(y.value(), z.value()) <= most);
  if (!y.wants_grad()) return;
  Dice dice(11);
  const Tensor seed = normals(dice, y.shape());
  here.backward(y, seed);
  const Tensor seed_on_device = seed.to(Device::cuda);
  const std::size_t before = SerialDevice::downloads();
  on_device.backward(z, seed_on_device);
  CHECK(SerialDevice::downloads() == before);
  for (std::size_t i = 0; i < in.size(); ++i)
    if (a[i].wants_grad()) CHECK(difference(*a[i].grad(), *b[i].grad()) <= most);
}

// Elements in (low, high).
Dense uniforms(Dice& dice, const Shape& shape, double low, double high) {
  Dense x = Dense::zeros(DType::F32, shape);
  for (float& v : x.values.mutate<float>())
    v = static_cast<float>(low + (high - low) * dice.uniform());
  return x;
}

Dense integers(const Shape& shape, const std::vector<Index>& v) {
  Dense x = Dense::zeros(DType::I64, shape);
  std::ranges::copy(v, x.values.mutate<std::int64_t>().begin());
  return x;
}

const std::vector<Shape> shapes =
    is_short() ? std::vector<Shape>{{3, 7}, {0, 4}, {33, 65}}
               : std::vector<Shape>{{}, {1}, {3, 7}, {0, 4}, {2, 1, 8}, {33, 65}};

}  // namespace

TEST_CASE("elementwise functions and their gradients on a device match the CPU's") {
  const SerialDevice device;
  for (const Shape& shape : shapes)
    for (const OperatorCase& c : with_unary_cases(shape, {}))
      check_on_device(c.op, inputs_of(c, DType::F32), c.attributes);
  Dice dice(1);
  check_on_device("sigmoid", {uniforms(dice, {33, 65}, -90, 90)});
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor x = Dense::of({4}, {inf, -inf, NAN, -0.0f}), y = x.to(Device::cuda);
  for (const char* op : {"relu", "tanh", "sigmoid", "gelu-tanh", "silu", "clip"}) {
    CAPTURE(op);
    CHECK(difference(apply(op, {x}), apply(op, {y})) == 0);
  }
  for (const char* op : {"min", "max"})
    CHECK(difference(apply(op, {x, x}), apply(op, {y, y})) == 0);
}

TEST_CASE("dropout on a device drops the same elements as on the CPU") {
  const SerialDevice device;
  Dice dice(2);
  for (const Shape& shape : shapes)
    for (const double p : {0.0, 0.1, 0.5, 1.0}) {
      const Attributes a = Attributes().set("p", p).set("seed", Index{9});
      check_on_device("dropout", {normals(dice, shape)}, a, 0);
      check_on_device("dropout", {normals(dice, shape), integers({}, {77})}, a, 0);
    }
}

TEST_CASE("broadcast binary operators and their gradients on a device match the CPU's") {
  const SerialDevice device;
  Dice dice(3);
  const std::vector<std::pair<Shape, Shape>> pairs{{{3, 7}, {3, 7}},
                                                   {{33, 65}, {65}},
                                                   {{5, 6}, {5, 1}},
                                                   {{2, 3, 4}, {}},
                                                   {{1}, {4, 2}},
                                                   {{0, 3}, {3}},
                                                   {{2, 1, 5}, {1, 3, 1}},
                                                   {{4, 1, 3, 1}, {2, 1, 9}},
                                                   {{2, 3, 4, 5}, {3, 1, 5}}};
  for (const auto& [a, b] : pairs)
    for (const BinaryRow& row : binary_rows()) {
      const bool is_power = row.function == kernels::BinaryFunction::pow;
      const std::string op(row.name);
      const Tensor x = is_power ? uniforms(dice, a, 0.2, 2) : normals(dice, a);
      check_on_device(op, {x, uniforms(dice, b, 0.2, 2)});
      if (!is_power && !is_short())
        check_on_device(op, {uniforms(dice, b, 0.2, 2), normals(dice, a)});
    }
  // Equal elements get half of the gradient each.
  const Tensor x = normals(dice, {9});
  check_on_device("min", {x, x});
  check_on_device("max", {x, x});
  check_on_device("pow", {x, Dense::of({}, {2})});
}

TEST_CASE("comparisons, where and casts on a device match the CPU's") {
  const SerialDevice device;
  Dice dice(4);
  const Tensor a = normals(dice, {5, 1, 7}), b = normals(dice, {3, 1});
  const Tensor i = integers({4}, {3, -1, 0, 9}), j = integers({4}, {3, 0, -1, 9});
  const Tensor p = apply("less", {a, b}), q = apply("less", {b, a});
  for (const ComparisonRow& row : comparison_rows()) {
    using Operands = std::pair<Tensor, Tensor>;
    for (const auto& [x, y] : row.is_logical ? std::vector<Operands>{{p, q}}
                                             : std::vector<Operands>{{a, b}, {a, a}, {i, j}})
      check_on_device(std::string(row.name), {x, y});
  }
  check_on_device("not", {p});
  const float inf = std::numeric_limits<float>::infinity();
  const Tensor odd = Dense::of({9}, {1, inf, -inf, NAN, 0, inf, 2, NAN, -inf});
  check_on_device("is-nan", {odd});
  check_on_device("is-inf", {odd});
  for (const char* sign : {"detect-negative", "detect-positive"})
    check_on_device("is-inf", {odd}, Attributes().set(sign, Index{0}));
  check_on_device("where", {p, a, b});
  check_on_device("where", {p, b, normals(dice, {2, 1, 1, 1})});
  check_on_device("where", {p, integers({}, {3}), integers({}, {4})});
  for (const char* to : {"F32", "I64", "BOOL"}) {
    const Attributes wanted = Attributes().set("to", std::string(to));
    for (const Tensor& x : {a, i, p})
      CHECK(difference(apply("cast", {x}, wanted), apply("cast", {x.to(Device::cuda)}, wanted)) ==
            0);
  }
  check_on_device("identity", {a});
}

TEST_CASE("reshaping a tensor on a device shares its memory") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(5);
  const Tensor x = Tensor(normals(dice, {2, 1, 6})).to(Device::cuda);
  const auto data = [](const Tensor& t) { return t.values()->bytes().data(); };
  using Case = std::pair<const char*, Attributes>;
  for (const Case& one :
       std::vector<Case>{{"reshape", Attributes().set("shape", Attributes::List{3, -1})},
                         {"squeeze", {}},
                         {"unsqueeze", Attributes().set("axes", Attributes::List{0})},
                         {"flatten", {}},
                         {"transpose", Attributes().set("axes", Attributes::List{1, 0, 2})}}) {
    CAPTURE(one.first);
    CHECK(data(apply(one.first, {x}, one.second)) == data(x));
    check_on_device(one.first, {x.to(Device::cpu)}, one.second, 0);
  }
  const Tensor shape = Tensor(integers({2}, {4, 3})).to(Device::cuda);
  CHECK(apply("reshape", {x, shape}).shape() == Shape{4, 3});
}

TEST_CASE("transpose, slice, concat, tile, pad and expand on a device match the CPU's") {
  const SerialDevice device;
  Dice dice(6);
  using List = Attributes::List;
  const auto list = [](const char* name, List v) { return Attributes().set(name, std::move(v)); };
  for (const Shape& shape : {Shape{3, 5, 4, 7}, Shape{2, 33, 1, 40}, Shape{2, 3, 0, 4}}) {
    const Tensor x = normals(dice, shape);
    for (const List& axes :
         {List{0, 2, 1, 3}, List{0, 2, 3, 1}, List{3, 2, 1, 0}, List{1, 0, 3, 2}})
      check_on_device("transpose", {x}, list("axes", axes), 0);
    check_on_device("slice", {x}, Attributes().set("axis", Index{1}).set("begin", Index{1}), 0);
    check_on_device("slice", {x},
                    list("begins", {-1, 0})
                        .set("ends", List{-9, 3})
                        .set("axes", List{1, 3})
                        .set("steps", List{-1, 2}),
                    0);
    Shape part = shape;
    part[1] = 2;
    check_on_device("slice-scatter", {x, normals(dice, part)},
                    Attributes().set("axis", Index{1}).set("begin", Index{1}).set("end", Index{3}),
                    0);
    check_on_device("concat", {x, normals(dice, part), x}, Attributes().set("axis", Index{1}), 0);
    check_on_device("concat", {x}, Attributes().set("axis", Index{-1}), 0);
    check_on_device("tile", {x}, list("repeats", {2, 1, 3, 1}));
  }
  const Tensor x = normals(dice, {3, 5, 4});
  check_on_device("pad", {x}, list("pads", {1, -2, 0, 2, 1, 3}).set("value", 0.5), 0);
  check_on_device("expand", {normals(dice, {3, 1})}, list("shape", {2, 3, 5}));
  check_on_device("transpose", {integers({2, 3}, {1, 2, 3, 4, 5, 6})});
}

TEST_CASE("views and slice_scatter_ write to a tensor on a device in place") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(10);
  const Tensor x = normals(dice, {6, 9}), v = normals(dice, {6, 4});
  const auto write = [&](Tensor to, const Tensor& part) {
    const View<Tensor> middle(to, 1, 3, 7);
    middle.set(part);
    relu_(middle);
    scale_(to, 2);
    add_(to, part.device() == Device::cpu ? x : x.to(Device::cuda));
    return to;
  };
  CHECK(difference(write(x, v), write(x.to(Device::cuda), v.to(Device::cuda))) == 0);
  Tensor on_device = x.to(Device::cuda);
  const std::byte* data = on_device.values()->bytes().data();
  slice_scatter_(on_device, v.to(Device::cuda), 1, 0, 4);
  CHECK(on_device.values()->bytes().data() == data);
}

TEST_CASE("sums and means over axes on a device match the CPU's") {
  const SerialDevice device;
  Dice dice(7);
  using List = Attributes::List;
  for (const Shape& shape : {Shape{3, 5, 4, 7}, Shape{2, 300, 1, 33}, Shape{2, 3, 0, 4}}) {
    const Tensor x = normals(dice, shape);
    for (const char* op : {"sum", "mean"})
      for (const List& axes : {List{}, List{0}, List{-1}, List{1}, List{0, 2, 3}, List{0, 3}})
        for (const Index keep : {0, 1})
          check_on_device(op, {x}, Attributes().set("axes", axes).set("keep", keep));
  }
  check_on_device("sum", {normals(dice, {40000})});
}

TEST_CASE("gradients of a value with several uses are accumulated on the device") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(8);
  const Tensor x = normals(dice, {6, 8}), w = normals(dice, {8}), seed = normals(dice, {6, 8});
  const auto grads = [&](Device where) {
    Tape tape;
    const Var p = tape.parameter(w.to(where)), v = tape.parameter(x.to(where));
    const Var h = mul(v, p), y = add(add(h, p), mul(h, tanh(h)));
    const Tensor dy = seed.to(where);
    const std::size_t before = SerialDevice::downloads();
    tape.backward(y, dy);
    CHECK(SerialDevice::downloads() == before);
    return std::pair(*p.grad(), *v.grad());
  };
  const auto here = grads(Device::cpu), on_device = grads(Device::cuda);
  CHECK(difference(here.first, on_device.first) <= 1e-6);
  CHECK(difference(here.second, on_device.second) <= 1e-6);
}

TEST_CASE("unsupported elementwise operators on a device fall back to the CPU with a warning") {
  const SerialDevice device;
  const Warnings warnings;
  Dice dice(9);
  const Tensor x = cast(Tensor(normals(dice, {4, 4})), DType::F64);
  const Tensor y = apply("tanh", {x.to(Device::cuda)});
  CHECK(y.device() == Device::cuda);
  CHECK(same_parts(y.to(Device::cpu).save(), apply("tanh", {x}).save()));
  REQUIRE(warnings.all.size() == 1);
  CHECK(warnings.all[0].find("tanh on a device supports F32, got F64; on the CPU") !=
        std::string::npos);
  CHECK(error_of([&] {
          apply("add", {y, y}, Attributes().set("by", 1.0));
        }) == error_of([&] {
          apply("add", {x, x}, Attributes().set("by", 1.0));
        }));
  const Tensor wide = Tensor(normals(dice, {3})).to(Device::cuda),
               other = Tensor(normals(dice, {2})).to(Device::cuda);
  CHECK(error_of([&] {
          apply("add", {wide, other});
        }) == "add: a is [3] but b is [2], which cannot be broadcast together");
}
