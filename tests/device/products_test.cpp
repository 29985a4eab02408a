// SPDX-License-Identifier: Apache-2.0
// Linear layers and batched products on a device: results equal the CPU's, without a fallback.
#include <doctest/doctest.h>

#include <cmath>
#include <optional>

#include "libsten/compute/product/device_gemm.h"
#include "libsten/core/base/cuda.h"
#include "libsten/core/dispatch/operators.h"
#include "libsten/core/sparsify/same_pattern.h"
#include "tests/device/near.h"
#include "tests/device/serial_backend.h"
#include "tests/support/laws.h"
#include "tests/support/sanitized.h"
#include "tests/support/strict.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Rounds to nearest, ties to even.
float rounded_to(int bits, float v) {
  int exponent = 0;
  const float fraction = std::frexp(v, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits);
}

// Compares the outputs of an operator on the CPU and on the device; formats[i] nullptr: output i is
// not computed.
void check_run(Name op, const std::vector<Tensor>& in,
               const std::vector<const OutFormat*>& formats) {
  std::vector<Tensor> on_device;
  for (const Tensor& t : in) on_device.push_back(t.to(Device::cuda));
  const Attributes none;
  const Outputs here = run(op, {in, formats, none});
  const Strict strict;
  const Outputs got = run(op, {on_device, formats, none});
  REQUIRE(got.size() == here.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    REQUIRE(got[i].has_value() == here[i].has_value());
    if (got[i]) CHECK(is_near(*got[i], *here[i]));
  }
}

Tensor weight_of(Dice& dice, const Shape& shape, const std::string& layout) {
  const Dense x = normals(dice, shape);
  if (layout == "dense") return x;
  if (layout == "csr" || layout == "masked")
    return packed(x, random_mask(dice, shape, 0.3), layout);
  return registry().prune(x, Spec::parse(layout), Spec::parse(layout));
}

// For a memory or race checker only the cases with own kernels.
void check_linear(Dice& dice, const std::vector<std::string>& layouts) {
  const OutFormat& dense = OutFormat::dense();
  std::vector<Shape> shapes{{2, 3, 40, 50}, {130, 33, 45}, {0, 6, 8}};
  if (!is_short())
    shapes = {{2, 3, 40, 50}, {1, 30, 7}, {130, 131, 150}, {0, 6, 8}, {3, 0, 8}, {3, 8, 0}};
  for (const std::string& layout : layouts)
    for (const Shape& shape : shapes) {
      Shape x_shape(shape.begin(), shape.end() - 1), y_shape = x_shape;
      const Index in = x_shape.back(), out = shape.back();
      y_shape.back() = out;
      CAPTURE(layout);
      CAPTURE(to_string(shape));
      const Tensor w = weight_of(dice, {out, in}, layout), bias = normals(dice, {out});
      const Tensor dy = normals(dice, y_shape);
      const Tensor masked_dy = weight_of(dice, y_shape, "masked");
      const OutFormat own = OutFormat::same_as(w);
      for (const bool is_masked : {false, true}) {
        if (is_short() && is_masked && shape.size() < 4) continue;
        const Tensor x = weight_of(dice, x_shape, is_masked ? "masked" : "dense");
        const OutFormat at_x = OutFormat::same_as(x);
        check_run("linear", {x, w, bias}, {&dense});
        check_run("linear.grad", {dy, x, w, bias}, {&at_x, &own, &dense});
        if (is_short() && is_masked) continue;
        check_run("linear.grad", {masked_dy, x, w, bias}, {nullptr, &dense, nullptr});
        if (is_short()) continue;
        check_run("linear", {x, w}, {&dense});
        check_run("linear.grad", {dy, x, w}, {&at_x, &own});
        check_run("linear.grad", {dy, x, w, bias}, {&dense, &own, &dense});
        check_run("linear.grad", {dy, x, w, bias}, {nullptr, &dense, nullptr});
        check_run("linear.grad", {dy, x, w, bias}, {&dense, nullptr, nullptr});
        check_run("linear.grad", {masked_dy, x, w}, {&dense, &own});
      }
    }
}

}  // namespace

TEST_CASE("linear layers and their gradients on a device match the CPU's") {
  const SerialDevice device;
  Dice dice(1);
  check_linear(dice, {"dense", "masked", "csr"});
}

TEST_CASE("linear layers of n:m:g weights and their gradients on a device match the CPU's") {
  const SerialDevice device;
  Dice dice(1);
  check_linear(dice, {"nmg:n=1,m=4,g=4", "nmg:n=2,m=4,g=3", "nmg:n=1,m=10,g=1", "nmg:n=3,m=6,g=1",
                      "nmg:n=1,m=21,g=2", "nmg:n=1,m=3,g=100", "nmg:n=1,m=4,g=2,axis=1"});
}

TEST_CASE("gradients of products on a device accumulate into an existing sum") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(12);
  const Attributes none;
  const OutFormat* const formats[] = {&OutFormat::dense(), &OutFormat::dense()};
  const auto check_sum = [&](Name op, const std::vector<Tensor>& in, std::size_t i) {
    CAPTURE(op.text());
    CAPTURE(i);
    std::vector<Tensor> on_device;
    for (const Tensor& t : in) on_device.push_back(t.to(Device::cuda));
    const Outputs plain = run(op, {in, formats, none});
    const Tensor before = normals(dice, plain[i]->shape());
    std::optional<Tensor> sum = before.to(Device::cuda);
    const std::byte* const place = sum->values()->bytes().data();
    OutHints hints[2];
    hints[i].sum = &sum;
    const Outputs got = run(op, {on_device, formats, none, {}, hints});
    CHECK(!sum);
    CHECK(got[i]->values()->bytes().data() == place);  // no copy was made
    CHECK(is_near(*got[i], apply("add", {before, *plain[i]})));
    CHECK(is_near(*got[1 - i], *plain[1 - i]));
  };
  for (const std::size_t i : {0u, 1u}) {
    for (const char* layout : {"dense", "masked", "csr", "nmg:n=1,m=4,g=4", "nmg:n=1,m=21,g=2"})
      for (const Index tokens : {5, 70})
        check_sum("linear.grad",
                  {normals(dice, {2, tokens, 7}), normals(dice, {2, tokens, 42}),
                   weight_of(dice, {7, 42}, layout)},
                  i);
    check_sum("matmul.grad",
              {normals(dice, {3, 5, 7}), normals(dice, {3, 5, 6}), normals(dice, {6, 7})}, i);
    check_sum("matmul.grad",
              {normals(dice, {4, 3, 5, 7}), normals(dice, {3, 5, 6}), normals(dice, {4, 1, 6, 7})},
              i);
  }
  // A tensor that is held elsewhere does not change.
  const Tensor dy = normals(dice, {4, 3}).to(Device::cuda),
               x = normals(dice, {4, 2}).to(Device::cuda),
               w = normals(dice, {3, 2}).to(Device::cuda),
               before = normals(dice, {4, 2}).to(Device::cuda);
  const Dense kept = before.to(Device::cpu).as<Dense>();
  std::optional<Tensor> sum = before;
  OutHints hints[2];
  hints[0].sum = &sum;
  const Tensor in[] = {dy, x, w};
  run("linear.grad", {in, formats, none, {}, hints});
  CHECK(same_bits(before.to(Device::cpu).as<Dense>(), kept));
}

TEST_CASE("a linear layer on a device caches its weight's positions but not the values") {
  const SerialDevice device;
  const Strict strict;
  Dice dice(2);
  const Tensor w = weight_of(dice, {30, 40}, "nmg:n=1,m=4,g=4"), x = normals(dice, {5, 40});
  Tensor on_device = w.to(Device::cuda);
  const Tensor x_on_device = x.to(Device::cuda);
  CHECK(is_near(apply("linear", {x_on_device, on_device}), apply("linear", {x, w})));
  const Values other = normals(dice, {w.values()->size()}).values;
  const Tensor changed = w.with_values(other);
  on_device = on_device.with_values(other.to(Device::cuda));
  const std::size_t downloads = SerialDevice::downloads(), uploads = SerialDevice::uploads();
  const Tensor y = apply("linear", {x_on_device, on_device});
  CHECK(SerialDevice::downloads() == downloads);
  CHECK(SerialDevice::uploads() == uploads);
  CHECK(is_near(y, apply("linear", {x, changed})));
}

TEST_CASE("linear layers on a device reject mismatched operands with the CPU's errors") {
  const SerialDevice device;
  Dice dice(3);
  const Tensor w = normals(dice, {6, 8}), bias = normals(dice, {6});
  const auto error = [](std::vector<Tensor> in, Device where) {
    for (Tensor& t : in) t = t.to(where);
    return error_of([&] { sten::apply("linear", in); });
  };
  for (const std::vector<Tensor>& in : {std::vector<Tensor>{normals(dice, {3, 7}), w},
                                        {normals(dice, {3, 8}), w, w},
                                        {normals(dice, {8}), normals(dice, {2, 3, 8})},
                                        {normals(dice, {3, 8}), w, normals(dice, {5})}}) {
    CHECK(error(in, Device::cuda) != "");
    CHECK(error(in, Device::cuda) == error(in, Device::cpu));
  }
}

TEST_CASE("batched products and their gradients on a device match the CPU's") {
  const SerialDevice device;
  Dice dice(4);
  const OutFormat& dense = OutFormat::dense();
  struct Pair {
    Shape a, b;
  };
  for (const Pair& p :
       {Pair{{5, 6}, {6, 7}}, Pair{{3, 5, 6}, {3, 6, 7}}, Pair{{2, 3, 5, 6}, {2, 3, 6, 1}},
        Pair{{2, 3, 5, 6}, {6, 7}}, Pair{{5, 6}, {4, 6, 7}}, Pair{{2, 1, 5, 6}, {2, 3, 6, 7}},
        Pair{{2, 3, 5, 6}, {3, 6, 7}}, Pair{{2, 1, 5, 6}, {1, 3, 6, 7}}, Pair{{1, 5, 6}, {6, 7}},
        Pair{{2, 3, 1, 6}, {2, 1, 6, 7}}, Pair{{3, 5, 0}, {3, 0, 7}}, Pair{{3, 0, 6}, {3, 6, 7}},
        Pair{{0, 5, 6}, {0, 6, 7}}, Pair{{0, 5, 6}, {6, 7}}, Pair{{1, 5, 6}, {0, 6, 7}}}) {
    CAPTURE(to_string(p.a));
    CAPTURE(to_string(p.b));
    const Tensor a = normals(dice, p.a), b = normals(dice, p.b);
    const Tensor c = apply("matmul", {a, b});
    const Tensor dc = normals(dice, c.shape());
    check_run("matmul", {a, b}, {&dense});
    check_run("matmul.grad", {dc, a, b}, {&dense, &dense});
    check_run("matmul.grad", {dc, a, b}, {nullptr, &dense});
    if (size_of(p.a) == 0 || size_of(p.b) == 0) continue;
    const Tensor masked_a = weight_of(dice, p.a, "masked"),
                 masked_b = weight_of(dice, p.b, "masked");
    const OutFormat at_a = OutFormat::same_as(masked_a), at_b = OutFormat::same_as(masked_b);
    check_run("matmul", {masked_a, b}, {&dense});
    check_run("matmul.grad", {dc, masked_a, b}, {&at_a, &dense});
    check_run("matmul.grad", {dc, a, masked_b}, {&dense, &at_b});
  }
}

TEST_CASE("batched products with a sparse matrix and their gradients on a device match the CPU's") {
  const SerialDevice device;
  Dice dice(6);
  const OutFormat& dense = OutFormat::dense();
  for (const std::string layout :
       {"csr", "nmg:n=1,m=4,g=4", "nmg:n=2,m=4,g=2", "nmg:n=1,m=3,g=2,axis=1"}) {
    CAPTURE(layout);
    const Tensor w = weight_of(dice, {17, 20}, layout);
    const OutFormat own = OutFormat::same_as(w);
    for (const Shape& batch : {Shape{}, Shape{2, 3}, Shape{0}}) {
      Shape left = batch, right = batch, y = batch, z = batch;
      left.insert(left.end(), {5, 17});
      y.insert(y.end(), {5, 20});
      right.insert(right.end(), {20, 9});
      z.insert(z.end(), {17, 9});
      const Tensor a = normals(dice, left), b = normals(dice, right);
      const Tensor da = normals(dice, y), db = normals(dice, z);
      check_run("matmul", {w, b}, {&dense});
      check_run("matmul.grad", {db, w, b}, {&own, &dense});
      check_run("matmul.grad", {db, w, b}, {&dense, nullptr});
      check_run("matmul", {a, w}, {&dense});
      check_run("matmul.grad", {da, a, w}, {&dense, &own});
      check_run("matmul.grad", {da, a, w}, {nullptr, &dense});
    }
  }
}

TEST_CASE("a device multiplies csr without cuSPARSE; without cuBLAS dense products fall back" *
          stand_in_only()) {
  const SerialDevice device;
  Dice dice(7);
  kernels::cuda::Backend without = cuda();
  without.products.csr_library = [] { return static_cast<const char*>(nullptr); };
  without.products.dense_library = without.products.csr_library;
  kernels::cuda::set_backend(&without);
  const Tensor w = weight_of(dice, {17, 20}, "csr"), b = normals(dice, {20, 9});
  check_run("matmul", {w, b}, {&OutFormat::dense()});
  const Warnings warnings;
  const Tensor x = normals(dice, {3, 9});
  const Tensor y = sten::apply("linear", {x.to(Device::cuda), b.to(Device::cuda)});
  CHECK(is_near(y, sten::apply("linear", {x, b})));
  REQUIRE(warnings.all.size() == 1);
  CHECK(has(warnings.all[0], "cuBLAS not found; on the CPU"));
}

TEST_CASE("device_gemm supports transposes, batches, strides, accumulation and rounded factors") {
  const SerialDevice device;
  Dice dice(5);
  constexpr Index m = 5, n = 7, k = 9, batch = 3;
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true})
      for (const auto& [to, bits] : {std::pair(kernels::Factors::float32, 24),
                                     {kernels::Factors::tf32, 11},
                                     {kernels::Factors::bfloat16, 8}}) {
        const Dense a = normals(dice, {batch, transpose_a ? k : m, transpose_a ? m : k});
        const Dense b = normals(dice, {transpose_b ? n : k, transpose_b ? k : n});
        const Dense c = normals(dice, {batch, m, n + 1});
        const Tensor a_on_device = Tensor(a).to(Device::cuda),
                     b_on_device = Tensor(b).to(Device::cuda);
        Tensor c_on_device = Tensor(c).to(Device::cuda);
        const auto pointer = [](const Tensor& t) {
          return reinterpret_cast<const float*>(t.values()->bytes().data());
        };
        std::optional<RoundedProducts> rounded(to);
        c_on_device = Tensor::update(c_on_device, [&](Values& v) {
          device_gemm({.m = m,
                       .n = n,
                       .k = k,
                       .batch = batch,
                       .a = pointer(a_on_device),
                       .lda = transpose_a ? m : k,
                       .a_step = m * k,
                       .transpose_a = transpose_a,
                       .b = pointer(b_on_device),
                       .ldb = transpose_b ? k : n,
                       .transpose_b = transpose_b,
                       .c = reinterpret_cast<float*>(v.mutate_bytes()),
                       .ldc = n + 1,
                       .c_step = m * (n + 1),
                       .alpha = 0.5f,
                       .beta = 2});
        });
        rounded.reset();
        std::vector<float> p = floats(a), q = floats(b);
        const std::vector<float> before = floats(c);
        const std::vector<float> got = floats(c_on_device.to(Device::cpu).as<Dense>());
        // A library of a device may round otherwise, or not at all.
        const bool may_round = bits < 24 && SerialDevice::is_replaced();
        const double tolerance = may_round ? 10 * std::ldexp(1, -bits) : 1e-5;
        if (!may_round)
          for (std::vector<float>* x : {&p, &q})
            for (float& v : *x) v = rounded_to(bits, v);
        for (Index i = 0; i < batch; ++i)
          for (Index r = 0; r < m; ++r) {
            for (Index j = 0; j < n; ++j) {
              double sum = 0;
              for (Index l = 0; l < k; ++l)
                sum += static_cast<double>(p[i * m * k + (transpose_a ? l * m + r : r * k + l)]) *
                       q[transpose_b ? j * k + l : l * n + j];
              const Index at = (i * m + r) * (n + 1) + j;
              CHECK(std::abs(got[at] - (0.5 * sum + 2 * before[at])) <= tolerance);
            }
            CHECK(got[(i * m + r) * (n + 1) + n] == before[(i * m + r) * (n + 1) + n]);
          }
      }
}
