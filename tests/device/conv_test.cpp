// SPDX-License-Identifier: Apache-2.0
// Convolutions on a device: results equal the CPU's, without a fallback.
#include <doctest/doctest.h>

#include "libsten/core/dispatch/operators.h"
#include "libsten/core/sparsify/same_pattern.h"
#include "tests/device/near.h"
#include "tests/device/serial_backend.h"
#include "tests/support/laws.h"
#include "tests/support/sanitized.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

using List = Attributes::List;

// Compares the outputs of an operator on the CPU and on the device; formats[i] nullptr: output i is
// not computed.
void check_conv_run(Name op, const std::vector<Tensor>& in, const Attributes& a,
                    const std::vector<const OutFormat*>& formats) {
  CAPTURE(op.text());
  CAPTURE(a.str());
  CAPTURE(to_string(in.front().shape()));
  std::vector<Tensor> on_device;
  for (const Tensor& t : in) on_device.push_back(t.to(Device::cuda));
  const Outputs here = run(op, {in, formats, a});
  set_strict(true);  // a fallback is an error
  const Outputs got = run(op, {on_device, formats, a});
  set_strict(false);
  REQUIRE(got.size() == here.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    REQUIRE(got[i].has_value() == here[i].has_value());
    if (got[i]) CHECK(is_near(*got[i], *here[i]));
  }
}

struct ConvCase {
  Shape x, w;
  Attributes a;
};

Attributes places(List strides, List pads, List dilations = {}, Index groups = 1) {
  Attributes a;
  if (dilations.empty()) dilations = List(strides.size(), 1);
  a.set("strides", std::move(strides)).set("pads", std::move(pads));
  return a.set("dilations", std::move(dilations)).set("groups", groups);
}

std::vector<ConvCase> one_group_cases() {
  return {{{2, 8, 8, 8}, {12, 8, 3, 3}, places({1, 1}, {1, 1, 1, 1})},
          {{2, 9, 8, 3}, {5, 3, 3, 3}, places({2, 2}, {1, 0, 1, 1})},
          {{3, 5, 5, 7}, {8, 7, 1, 1}, {}},
          {{2, 7, 5, 8}, {4, 8, 1, 1}, places({2, 2}, {0, 0, 0, 0})},
          {{1, 11, 4}, {6, 4, 3}, places({2}, {3, 1}, {2})},
          {{2, 4, 5, 6, 4}, {3, 4, 2, 3, 2}, places({1, 2, 1}, {1, 1, 0, 0, 1, 1}, {1, 1, 2})},
          {{1, 3, 3, 2}, {4, 2, 3, 3}, {}},
          {{0, 6, 6, 3}, {4, 3, 3, 3}, places({1, 1}, {1, 1, 1, 1})}};
}
std::vector<ConvCase> grouped_cases() {
  return {{{2, 6, 6, 8}, {6, 4, 3, 3}, places({1, 1}, {1, 1, 1, 1}, {1, 1}, 2)},
          {{2, 6, 7, 5}, {5, 1, 3, 3}, places({2, 1}, {1, 1, 1, 1}, {1, 1}, 5)},
          {{2, 4, 4, 6}, {9, 2, 1, 1}, places({1, 1}, {0, 0, 0, 0}, {1, 1}, 3)}};
}

Tensor conv_weight(Dice& dice, const Shape& shape, const std::string& layout) {
  const Dense x = normals(dice, shape);
  if (layout == "dense") return x;
  if (layout == "csr" || layout == "masked")
    return packed(x, random_mask(dice, shape, 0.4), layout);
  return registry().prune(x, Spec::parse(layout), Spec::parse(layout));
}

// Forward with and without bias, and all gradients; for a memory or race checker only the cases
// with own kernels.
void check_convolution(Dice& dice, const std::string& op, const ConvCase& c,
                       const std::string& layout) {
  CAPTURE(layout);
  const OutFormat& dense = OutFormat::dense();
  const bool transposed = op == "conv-transpose";
  const Tensor w = conv_weight(dice, c.w, layout), x = normals(dice, c.x);
  Index channels = c.w[0];
  if (transposed) channels = c.w[1] * c.a.integer("groups", 1);
  const Tensor b = normals(dice, {channels});
  const Tensor y = apply(op, {x, w}, c.a), dy = normals(dice, y.shape());
  const OutFormat own = OutFormat::same_as(w);
  const Name grad(op + ".grad");
  Attributes residual = c.a;
  residual.set("residual", Index{1});
  check_conv_run(op, {x, w, b}, c.a, {&dense});
  check_conv_run(grad, {dy, x, w, b}, c.a, {&dense, &own, &dense});
  check_conv_run(grad, {dy, x, w, b}, c.a, {nullptr, &dense, nullptr});
  if (!transposed) check_conv_run("conv-relu", {x, w, b, dy}, residual, {&dense});
  if (is_short()) return;
  check_conv_run(op, {x, w}, c.a, {&dense});
  check_conv_run(grad, {dy, x, w}, c.a, {&dense, &own});
  check_conv_run(grad, {dy, x, w}, c.a, {&dense, nullptr});
  if (transposed) return;
  check_conv_run("conv-relu", {x, w}, c.a, {&dense});
  check_conv_run("conv-relu", {x, w, b}, c.a, {&dense});
  check_conv_run("conv-relu", {x, w, dy}, residual, {&dense});
}

}  // namespace

TEST_CASE(
    "convolutions of dense and masked weights and their gradients on a device match the CPU's") {
  const SerialDevice device;
  Dice dice(1);
  for (const char* layout : {"dense", "masked"}) {
    for (const ConvCase& c : one_group_cases()) check_convolution(dice, "conv", c, layout);
    for (const ConvCase& c : grouped_cases()) check_convolution(dice, "conv", c, layout);
  }
}

TEST_CASE("convolutions of csr weights and their gradients on a device match the CPU's") {
  const SerialDevice device;
  Dice dice(2);
  for (const ConvCase& c : one_group_cases()) check_convolution(dice, "conv", c, "csr");
}

TEST_CASE("convolutions of n:m:g weights and their gradients on a device match the CPU's") {
  const SerialDevice device;
  Dice dice(2);
  for (const char* layout : {"nmg:n=1,m=4,g=4", "nmg:n=2,m=4,g=1"})
    for (const ConvCase& c : one_group_cases()) check_convolution(dice, "conv", c, layout);
}

TEST_CASE("transposed convolutions and their gradients on a device match the CPU's") {
  const SerialDevice device;
  Dice dice(3);
  for (const char* layout : {"dense", "masked"})
    for (const ConvCase& c :
         {ConvCase{{2, 4, 5, 8}, {8, 4, 3, 3}, places({2, 2}, {1, 1, 1, 0})},
          ConvCase{{2, 6, 6}, {6, 2, 4}, places({3}, {1, 1}, {2}, 2)},
          ConvCase{{3, 3, 3, 4}, {4, 5, 1, 1}, {}},
          ConvCase{{1, 4, 4, 3},
                   {3, 2, 3, 3},
                   places({2, 2}, {1, 1, 1, 1}).set("output-padding", List{1, 1})},
          ConvCase{{0, 4, 4, 3}, {3, 2, 3, 3}, {}}})
      check_convolution(dice, "conv-transpose", c, layout);
}

TEST_CASE("large convolutions on a device match the CPU's and bound the memory of im2col") {
  const SerialDevice device;
  Dice dice(4);
  const OutFormat& dense = OutFormat::dense();
  // Segments of one image, and 3 of 4 images at once.
  std::vector<ConvCase> all{{{1, 300, 500}, {1, 500, 130}, places({1}, {64, 65})}};
  if (!is_short()) all.push_back({{4, 600, 250}, {1, 250, 36}, places({1}, {17, 18})});
  for (const ConvCase& c : all) {
    // Integer values, so that long sums are exact.
    const auto whole = [&](const Shape& shape) { return apply("round", {normals(dice, shape)}); };
    const Tensor x = whole(c.x), w = whole(c.w);
    Shape y = c.x;
    y.back() = c.w[0];
    const Tensor dy = whole(y);
    const std::size_t before = SerialDevice::live().bytes;
    check_conv_run("conv", {x, w}, c.a, {&dense});
    check_conv_run("conv.grad", {dy, x, w}, c.a, {&dense, &dense});
    CHECK(SerialDevice::live().bytes == before);
  }
  if (!SerialDevice::is_replaced()) CHECK(SerialDevice::most_bytes() < (std::size_t{100} << 20));
}

TEST_CASE("convolutions on a device reject mismatched operands with the CPU's errors") {
  const SerialDevice device;
  Dice dice(5);
  const Tensor x = normals(dice, {2, 5, 5, 4}), w = normals(dice, {6, 4, 3, 3});
  const auto error = [](std::vector<Tensor> in, const Attributes& a, Device where) {
    for (Tensor& t : in) t = t.to(where);
    return error_of([&] { sten::apply("conv", in, a); });
  };
  using Case = std::pair<std::vector<Tensor>, Attributes>;
  for (const Case& c :
       {Case{{normals(dice, {2, 5, 5, 3}), w}, {}}, Case{{x, w, normals(dice, {5})}, {}},
        Case{{x, w}, places({0, 1}, {0, 0, 0, 0})}, Case{{normals(dice, {2, 2, 2, 4}), w}, {}}}) {
    CHECK(error(c.first, c.second, Device::cuda) != "");
    CHECK(error(c.first, c.second, Device::cuda) == error(c.first, c.second, Device::cpu));
  }
}

TEST_CASE("unsupported convolutions on a device fall back to the CPU with a warning") {
  const SerialDevice device;
  const Warnings warnings;
  Dice dice(6);
  const Tensor x = normals(dice, {1, 4, 4, 3}), w = normals(dice, {2, 3, 3, 3});
  const auto doubled = [](const Tensor& t) {
    return apply("cast", {t}, Attributes().set("to", "F64"));
  };
  const Tensor y = sten::apply("conv", {doubled(x).to(Device::cuda), doubled(w).to(Device::cuda)});
  CHECK(y.device() == Device::cuda);
  CHECK(y.dtype() == DType::F64);
  CHECK(warnings.all.size() == 1);
}
