// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/core/sparsify/nm_magnitude.h"
#include "tests/ops/operands.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

Tensor ids(Shape extents, const std::vector<std::int32_t>& v) {
  Dense x = Dense::zeros(DType::I32, std::move(extents));
  std::ranges::copy(v, x.values.mutate<std::int32_t>().begin());
  return x;
}

bool near(const Tensor& x, Shape shape, const std::vector<float>& expected) {
  const std::vector<float> v = floats(x.to_dense());
  bool same = x.shape() == shape && v.size() == expected.size();
  for (std::size_t i = 0; same && i < v.size(); ++i) same = std::abs(v[i] - expected[i]) < 1e-6f;
  return same;
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  return apply("rms-norm", {x, weight}, Attributes().set("eps", eps));
}

}  // namespace

TEST_CASE("softmax sums to 1 along its axis and does not overflow") {
  const float ln3 = std::log(3.0f);
  CHECK(near(softmax(tensor({2, 2}, {0, ln3, 5, 5})), {2, 2}, {0.25, 0.75, 0.5, 0.5}));
  CHECK(near(softmax(tensor({2, 2}, {0, 7, ln3, 7}), 0), {2, 2}, {0.25, 0.5, 0.75, 0.5}));
  CHECK(near(softmax(tensor({3}, {1000, 1000, -1000})), {3}, {0.5, 0.5, 0}));
  const float minus = -std::numeric_limits<float>::infinity();
  CHECK(near(softmax(tensor({3}, {minus, 2, 2})), {3}, {0, 0.5, 0.5}));
  CHECK(softmax(tensor({0, 3}, {})).shape() == Shape{0, 3});
}

TEST_CASE("log-softmax is accurate where softmax underflows to 0") {
  CHECK(near(log_softmax(tensor({2}, {0, -1000})), {2}, {0, -1000}));
  CHECK(near(log_softmax(tensor({2, 1}, {3, 3}), 0), {2, 1}, {-0.6931472f, -0.6931472f}));
}

TEST_CASE("layer-norm normalizes rows and applies gamma and beta") {
  const Tensor gamma = tensor({2}, {10, 100}), beta = tensor({2}, {1, 2});
  CHECK(near(layer_norm(tensor({2, 2}, {1, 3, 9, 5}), gamma, beta, 0), {2, 2}, {-9, 102, 11, -98}));
  // The variance of values far from 0.
  CHECK(near(layer_norm(tensor({1, 2}, {100001, 100003}), gamma, beta, 0), {1, 2}, {-9, 102}));
  // (4 - 3) / sqrt(1 + 3).
  CHECK(near(layer_norm(tensor({1, 2}, {2, 4}), gamma, beta, 3), {1, 2}, {-4, 52}));
}

TEST_CASE("rms-norm divides each head by its root mean square without subtracting the mean") {
  const Tensor weight = tensor({2}, {10, 100});
  // sqrt((49 + 1) / 2) = 5.
  CHECK(near(rms_norm(tensor({2, 2}, {7, 1, -1, 7}), weight, 0), {2, 2}, {14, 20, -2, 140}));
  // sqrt((1 + 7) / 2 + 5) = 3.
  CHECK(near(rms_norm(tensor({2}, {1, std::sqrt(7.0f)}), tensor({2}, {3, 0}), 5), {2}, {1, 0}));
  // Two heads of two features by the same weight.
  CHECK(near(rms_norm(tensor({1, 4}, {7, 1, -1, 7}), weight, 0), {1, 4}, {14, 20, -2, 140}));
  // Gemma multiplies by 1 + weight.
  const Attributes offset = Attributes().set("eps", 0.0).set("unit_offset", 1);
  CHECK(
      near(apply("rms-norm", {tensor({2}, {7, 1}), tensor({2}, {9, 99})}, offset), {2}, {14, 20}));
  CHECK(rms_norm(tensor({0, 4}, {}), weight, 0).shape() == Shape{0, 4});
}

TEST_CASE("embedding returns rows of the table and sums the gradients of repeated rows") {
  Tape tape;
  const Var table = tape.parameter(tensor({3, 2}, {1, 2, 3, 4, 5, 6}));
  const Var y = embedding(table, ids({3}, {2, 0, 2}));
  CHECK(is(y.value(), tensor({3, 2}, {5, 6, 1, 2, 5, 6})));
  tape.backward(y, tensor({3, 2}, {1, 2, 3, 4, 10, 20}));
  CHECK(is(*table.grad(), tensor({3, 2}, {3, 4, 0, 0, 11, 22})));
  CHECK(embedding(table, ids({2, 1, 2}, {0, 0, 1, 1})).shape() == Shape{2, 1, 2, 2});
}

TEST_CASE("softmax, norms and embedding reject mismatched inputs and invalid attributes") {
  const Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6}), g = tensor({3}, {1, 1, 1});
  CHECK(error_of([&] { softmax(x, 2); }) == "softmax: [2, 3] has no axis 2");
  CHECK(error_of([&] { log_softmax(tensor({}, {1})); }) == "log-softmax: [] has no axis -1");
  CHECK(error_of([&] { apply("softmax", {x}, Attributes().set("axs", 0)); }) ==
        "softmax: unknown attribute 'axs', did you mean 'axis'?");
  CHECK(error_of([&] {
          layer_norm(x, tensor({2}, {1, 1}), g);
        }) == "layer-norm: x is [2, 3] but gamma is [2]");
  CHECK(error_of([&] { layer_norm(x, g, Tensor(Dense::zeros(DType::F64, {3}))); }) ==
        "layer-norm: x is F32 but beta is F64");
  CHECK(error_of([&] { layer_norm(x, g, g, -1); }) == "layer-norm: eps must be >= 0, got -1");
  CHECK(error_of([&] {
          rms_norm(x, tensor({2}, {1, 1}), 0);
        }) == "rms-norm: the last axis of x must be a multiple of weight's 2 elements, got [2, 3]");
  CHECK(error_of([&] { rms_norm(x, g, -1); }) == "rms-norm: eps must be >= 0, got -1");
  CHECK(error_of([&] { rms_norm(x, x, 0); }) == "rms-norm: weight must have one axis, got [2, 3]");
  CHECK(error_of([&] {
          apply("rms-norm", {x, g}, Attributes().set("unit_offset", 2));
        }) == "rms-norm: unit_offset must be 0 or 1, got 2");
  CHECK(error_of([&] {
          embedding(x, ids({2, 2}, {0, 1, 2, 0}));
        }) == "embedding: ids[1, 0] is 2, but the table is [2, 3]");
  CHECK(error_of([&] { embedding(x, ids({1}, {-1})); }) ==
        "embedding: ids[0] is -1, but the table is [2, 3]");
  CHECK(error_of([&] { embedding(x, x); }) == "embedding: ids must be I64 or I32, got F32");
  CHECK(error_of([&] { embedding(g, ids({1}, {0})); }) ==
        "embedding: the table must be a matrix, got [3]");
}

TEST_CASE("row operators sparsify inline, or the whole dense result where inline is unsupported") {
  Dice dice(4);
  const Tensor x = normals(dice, {30, 40}), g = normals(dice, {40}), b = normals(dice, {40});
  const auto check = [](const auto& f, double at) {
    const Sparsifier by = Threshold{at};
    for (const char* layout : {"csr", "masked"}) {
      CAPTURE(layout);
      const Tensor fused = f(OutFormat::fused(by, Spec(layout)));
      CHECK(fused.layout() == layout);
      CHECK(is(fused, sparsify(f(OutFormat::dense()), by, Spec(layout))));
    }
  };
  std::vector<std::string> plans;
  Operators::log_plans(&plans);
  check([&](const OutFormat& f) { return softmax(x, -1, f); }, 0.03);
  check([&](const OutFormat& f) { return softmax(x, 0, f); }, 0.03);
  check([&](const OutFormat& f) { return layer_norm(x, g, b, 1e-5, f); }, 0.5);
  check([&](const OutFormat& f) { return embedding(x, ids({3}, {7, 7, 0}), f); }, 0.5);
  CHECK(std::ranges::all_of(plans, [](const std::string& p) { return p.ends_with(": exact"); }));
  plans.clear();
  const Warnings warnings;
  const Tensor nm = softmax(
      x, -1,
      OutFormat::fused(NmMagnitude::make(Spec::parse("nm:n=2,m=4")), Spec::parse("nm:n=2,m=4")));
  CHECK(nm.layout() == "nm");
  REQUIRE(plans.size() == 1);
  CHECK(plans[0] ==
        "softmax(dense) -> nm/nm: no implementation for these layouts; takes softmax(dense) "
        "-> keep-all/dense, and its dense result is sparsified after that");
  Operators::log_plans(nullptr);
}
