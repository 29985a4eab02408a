// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/core/layout/compressed.h"
#include "tests/ops/operands.h"

using namespace sten;
using namespace sten::testing;

namespace {

const float quiet_nan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("relu replaces negative values by 0 and keeps NaN") {
  const std::vector<float> y = floats(relu(tensor({5}, {-2, -0.0f, 0, 3, quiet_nan})).to_dense());
  CHECK(std::vector<float>(y.begin(), y.end() - 1) == std::vector<float>{0, 0, 0, 3});
  CHECK(std::isnan(y.back()));
}

TEST_CASE("gelu is accurate for results close to 0") {
  // x P(X <= x) at -8: P is 6.22e-16, less than 1 + erf can tell from 0.
  const float y = floats(gelu(Tensor(f32({1}, {-8}))).to_dense())[0];
  CHECK(y == doctest::Approx(-8 * 6.220960574271786e-16).epsilon(1e-5).scale(1e-15));
  CHECK(floats(gelu(Tensor(f32({2}, {0, 1000}))).to_dense()) == std::vector<float>{0, 1000});
}

TEST_CASE("gelu-tanh reaches its limits without overflow") {
  const float infinity = std::numeric_limits<float>::infinity();
  Tape tape;
  const Var x = tape.parameter(f32({6}, {-infinity, -1e30f, 0, 1, 1e30f, infinity}));
  const Var y = apply("gelu-tanh", {x});
  tape.backward(y, f32({6}, {1, 1, 1, 1, 1, 1}));
  const std::vector<float> v = floats(y.value().to_dense()), dx = floats(x.grad()->to_dense());
  CHECK(std::vector<float>(v.begin(), v.begin() + 3) == std::vector<float>{0, 0, 0});
  CHECK(v[3] == doctest::Approx(0.8411919906));
  CHECK(std::vector<float>(v.begin() + 4, v.end()) == std::vector<float>{1e30f, infinity});
  CHECK(std::vector<float>(dx.begin(), dx.begin() + 3) == std::vector<float>{0, 0, 0.5});
  CHECK(dx[3] == doctest::Approx(1.0829640838));
  CHECK(std::vector<float>(dx.begin() + 4, dx.end()) == std::vector<float>{1, 1});
  CHECK(std::isnan(floats(apply("gelu-tanh", {tensor({1}, {quiet_nan})}).to_dense())[0]));
}

TEST_CASE("sigmoid and tanh reach their limits without overflow") {
  const Tensor x = f32({3}, {-1000, 0, 1000});
  CHECK(floats(sigmoid(x).to_dense()) == std::vector<float>{0, 0.5, 1});
  CHECK(floats(tanh(x).to_dense()) == std::vector<float>{-1, 0, 1});
}

TEST_CASE("dropout drops the elements whose random numbers are below p and scales the others") {
  const Tensor x = f32({4, 5}, std::vector<float>(20, 3));
  const std::vector<float> y = floats(dropout(x, 0.25, 11).to_dense());
  for (std::size_t i = 0; i < y.size(); ++i)
    CHECK(y[i] == (random_uniform(11, i) >= 0.25 ? 4.0f : 0.0f));
  CHECK(is(dropout(x, 0, 1), x));
  CHECK(floats(dropout(x, 1, 1).to_dense()) == std::vector<float>(20, 0));
  // Different draws give different masks; equal draws give equal masks.
  const auto draw = [](std::int64_t n) {
    Dense d = Dense::zeros(DType::I64, {});
    d.values.mutate<std::int64_t>()[0] = n;
    return Tensor(std::move(d));
  };
  CHECK(is(dropout(x, draw(4), 0.5, 1), dropout(x, draw(4), 0.5, 1)));
  CHECK(!is(dropout(x, draw(4), 0.5, 1), dropout(x, draw(5), 0.5, 1)));
  CHECK(!is(dropout(x, draw(4), 0.5, 1), dropout(x, draw(4), 0.5, 2)));
  CHECK(error_of([&] { dropout(x, x, 0.5, 1); }) ==
        "dropout: 'draw' must be one I64 value, got F32 [4, 5]");
  CHECK(error_of([&] { dropout(x, 1.5, 0); }) == "dropout: p must be in [0, 1], got 1.5");
}

TEST_CASE("binary operators broadcast as in NumPy") {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(is(add(x, f32({3}, {10, 20, 30})), f32({2, 3}, {11, 22, 33, 14, 25, 36})));
  CHECK(is(sub(tensor({2, 1}, {10, 20}), x), f32({2, 3}, {9, 8, 7, 16, 15, 14})));
  CHECK(is(mul(x, f32({}, {2})), f32({2, 3}, {2, 4, 6, 8, 10, 12})));
  CHECK(is(mul(tensor({2, 1}, {1, 2}), tensor({1, 2}, {3, 4})), f32({2, 2}, {3, 4, 6, 8})));
  CHECK(add(tensor({0, 3}, {}), tensor({3}, {1, 2, 3})).shape() == Shape{0, 3});
}

TEST_CASE("the gradient of a broadcast operand is summed over the broadcast axes") {
  Tape tape;
  const Var x = Tensor(f32({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Var bias = tape.parameter(f32({3}, {1, 1, 1})),
            column = tape.parameter(f32({2, 1}, {1, 1}));
  const Tensor dy = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  tape.backward(sub(add(x, bias), mul(x, column)), dy);
  CHECK(is(*bias.grad(), f32({3}, {5, 7, 9})));
  CHECK(is(*column.grad(), f32({2, 1}, {-14, -77})));
}

TEST_CASE("elementwise operators reject mismatched operands and unknown attributes") {
  const Tensor x = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(error_of([&] {
          add(x, f32({2}, {1, 2}));
        }) == "add: a is [2, 3] but b is [2], which cannot be broadcast together");
  CHECK(error_of([&] { mul(x, Dense::zeros(DType::F64, {3})); }) == "mul: a is F32 but b is F64");
  CHECK(error_of([&] { relu(Tensor(Dense::zeros(DType::I64, {3}))); }) ==
        "relu: elements must be F32 or F64, got I64");
  CHECK(error_of([&] { apply("relu", {x}, Attributes().set("axis", 1)); }) ==
        "relu: unknown attribute 'axis'");
  CHECK(error_of([&] { apply("add.grad", {x}); }) != "");
}

TEST_CASE("zero-preserving operators keep the layout and positions of a csr input") {
  const Tensor x = f32({2, 4}, {0, -2, 0, 3, 1, 0, 0, 0});
  const Tensor sparse = sparsify(x, KeepAll{}, Spec("csr"));
  const OutFormat csr = OutFormat::fused(KeepAll{}, Spec("csr"));
  for (const char* op : {"relu", "gelu", "gelu-tanh", "tanh", "scale"}) {
    CAPTURE(op);
    const Tensor y = apply(op, {sparse}, {}, csr);
    REQUIRE(y.is<Csr>());
    CHECK(same_mask(y.stored(), sparse.stored()));
    CHECK(is(y, apply(op, {x})));
  }
}

TEST_CASE("operators apply a streaming sparsifier inline and write csr") {
  Dice dice(3);
  const Tensor a = normals(dice, {30, 40}), b = normals(dice, {40});
  const Sparsifier by = Threshold{0.5};
  const OutFormat csr = OutFormat::fused(by, Spec("csr"));
  const auto check = [&](const Tensor& fused, const Tensor& dense) {
    CHECK(fused.layout() == "csr");
    CHECK(is(fused, sparsify(dense, by, Spec("csr"))));
  };
  std::vector<std::string> plans;
  Operators::log_plans(&plans);
  check(gelu(a, csr), gelu(a));
  check(mul(a, b, csr), mul(a, b));
  check(dropout(a, 0.5, 1, csr), dropout(a, 0.5, 1));
  CHECK(std::ranges::count(plans, "gelu(dense) -> threshold/csr: exact") == 1);
  CHECK(std::ranges::count(plans, "mul(dense, dense) -> threshold/csr: exact") == 1);
  Operators::log_plans(nullptr);
}
