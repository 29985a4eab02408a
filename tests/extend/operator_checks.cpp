// SPDX-License-Identifier: Apache-2.0
// User-defined operators, called by name, work like the built-in ones.
#include <doctest/doctest.h>

#include <functional>

#include "libsten/compute/autograd/tape.h"
#include "libsten/core/base/log.h"
#include "libsten/core/registry/route.h"
#include "libsten/core/sparsify/streaming.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

Tensor normals64(Dice& dice, const Shape& shape) {
  Dense x = Dense::zeros(DType::F64, shape);
  for (double& v : x.values.mutate<double>()) v = dice.normal();
  return x;
}

// Compares d sum(f * seed) / d in[i] by central differences with the tape's gradient.
void check_gradients(Name op, const std::vector<Tensor>& in, const Attributes& attributes) {
  Dice dice(1);
  const Tensor seed = normals64(dice, in[0].shape());
  Tape tape;
  std::vector<Var> vars;
  for (const Tensor& t : in) vars.push_back(tape.parameter(t));
  tape.backward(apply(op, vars, attributes), seed);
  const auto value = [&](const std::vector<Tensor>& at) {
    const Tensor y = apply(op, std::span<const Tensor>(at), attributes);
    double sum = 0;
    for (Index k = 0; k < seed.values()->size(); ++k)
      sum += y.values()->as<double>()[k] * seed.values()->as<double>()[k];
    return sum;
  };
  constexpr double h = 1e-6;
  for (std::size_t i = 0; i < in.size(); ++i)
    for (Index k = 0; k < in[i].values()->size(); ++k) {
      const auto moved = [&](double by) {
        std::vector<Tensor> at = in;
        at[i] = Tensor::update(in[i], [&](Values& v) { v.mutate<double>()[k] += by; });
        return value(at);
      };
      CHECK(vars[i].grad()->values()->as<double>()[k] ==
            doctest::Approx((moved(h) - moved(-h)) / (2 * h)).epsilon(1e-6));
    }
}

std::vector<std::string> plans_of(const std::function<void()>& f) {
  std::vector<std::string> plans;
  Operators::log_plans(&plans);
  f();
  Operators::log_plans(nullptr);
  return plans;
}

}  // namespace

TEST_CASE("gradients of user-defined operators match central differences") {
  Dice dice(2);
  const Tensor a = normals64(dice, {3, 4}), b = normals64(dice, {3, 4});
  check_gradients("squareplus", {a}, {});
  check_gradients("squareplus", {a}, Attributes().set("b", 2.5));
  check_gradients("gate", {a, b}, {});
  check_gradients("unit-rows", {a}, {});
}

TEST_CASE("user-defined operators write outputs and gradients in seven layouts with exact plans") {
  Dice dice(3);
  const Tensor a = normals(dice, {37, 23}), b = normals(dice, {37, 23}),
               dy = normals(dice, {37, 23});
  for (const char* by : {"keep-all", "threshold:at=0.3", "random:fraction=0.5,seed=3", "relu"})
    for (const char* to : {"csr", "csc", "coo", "bitmask", "masked", "dense", "bcsr:h=2,w=2"}) {
      const Sparsifier s = registry().sparsifier(Spec::parse(by));
      const OutFormat format = OutFormat::fused(s, Spec::parse(to));
      const auto same = [&](const Tensor& got, const Tensor& dense) {
        CHECK(got.spec() == Spec::parse(to));
        CHECK(same_bits(got.to_dense(), masked_by(dense.to_dense(), s.select(dense.to_dense()))));
      };
      const auto plans = plans_of([&] {
        same(apply("squareplus", {a}, {}, format), apply("squareplus", {a}));
        same(apply("gate", {a, b}, {}, format), apply("gate", {a, b}));
        const auto grads = [&](const OutFormat& of) {
          Tape tape;
          const Var x = tape.parameter(a, of), y = tape.parameter(b, of);
          tape.backward(apply("gate", {x, y}), dy);
          return std::pair(*x.grad(), *y.grad());
        };
        const auto got = grads(format), dense = grads({});
        same(got.first, dense.first);
        same(got.second, dense.second);
      });
      for (const std::string& plan : plans) CHECK_MESSAGE(has(plan, ": exact"), plan);
    }
}

TEST_CASE("the gate operator keeps the positions of a csr tensor and matches the dense result") {
  Dice dice(4);
  const Dense b = normals(dice, {9, 11});
  const Tensor a = packed(normals(dice, {9, 11}), Sparsifier(Threshold{1}).select(b), "csr");
  const auto plans = plans_of([&] {
    const Tensor y = apply("gate", {a, b}, {}, OutFormat::fused(KeepAll{}, Spec("csr")));
    CHECK(same_mask(y.stored(), a.stored()));
    CHECK(same_bits(y.to_dense(), apply("gate", {a.to_dense(), b}).to_dense()));
  });
  CHECK(plans.at(0) == "gate(csr, dense) -> keep-all/csr: exact");
  CHECK(operators().plan({"gate", {"csc", "dense"}})->text ==
        "gate(csc, dense) -> keep-all/dense: no implementation for these layouts; dense with "
        "masks, gate(dense, dense) -> keep-all/dense");
}

TEST_CASE("user-defined operators reject mismatched shapes and invalid attributes") {
  const Tensor x = Dense::of({2, 2}, {1, 2, 3, 4}), y = Dense::of({4}, {1, 2, 3, 4});
  CHECK(has(error_of([&] { apply("gate", {x, y}); }), "gate: a is [2, 2] but b is [4]"));
  CHECK(has(error_of([&] { apply("squareplus", {x}, Attributes().set("b", 0)); }),
            "squareplus: b must be > 0, got 0"));
  CHECK(has(error_of([&] { apply("squareplus", {x}, Attributes().set("c", 1)); }),
            "squareplus: unknown attribute 'c'"));
  CHECK(has(error_of([&] { apply("squarplus", {x}); }), "did you mean 'squareplus'?"));
}
