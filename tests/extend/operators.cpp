// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>

#include "libsten/compute/ops/elementwise/elementwise.h"
#include "libsten/compute/ops/elementwise/unary.h"
#include "libsten/core/sparsify/streaming.h"
#include "libsten/training/optim/slots.h"

namespace {

using namespace sten;

// (x + sqrt(x^2 + b)) / 2, a smooth relu (Barron 2021).
const bool has_squareplus =
    add_unary("squareplus", SavedForBackward::inputs, false, []<class T>(T, const Call& call) {
      call.attributes.check("squareplus", {"b"});
      const T b = static_cast<T>(call.attributes.number("b", 1));
      if (!(b > 0)) fail_usage("squareplus: b must be > 0, got {}", b);
      return std::pair([=](T x, Index) { return (x + std::sqrt(x * x + b)) / 2; },
                       [=](T dy, T x, Index) { return dy * (1 + x / std::sqrt(x * x + b)) / 2; });
    });
template <Operand T>
T squareplus(const T& x, double b, const Formats& f = Formats::dense()) {
  return apply_to<T>("squareplus", {x}, Attributes().set("b", b), f);
}

// a * sigmoid(b): a gated linear unit (Dauphin et al. 2017).
template <class T>
T sigmoid_of(T x) {
  return 1 / (1 + std::exp(-x));
}
Outputs gate(const Call& call) {
  const Dense &a = call.in[0].as<Dense>(), &b = call.in[1].as<Dense>();
  check_alike("gate", "a", a, "b", b);
  return with_real("gate", a.dtype(), [&]<class T>(T) -> Outputs {
    const T *x = a.values.as<T>().data(), *y = b.values.as<T>().data();
    return {write_each<T>(call.out(), a.extents, [=](Index i) { return x[i] * sigmoid_of(y[i]); })};
  });
}
Outputs gate_grad(const Call& call) {
  for (const Tensor& x : call.in)
    check_alike("gate.grad", "dy", call.in[0].as<Dense>(), "an operand", x.as<Dense>());
  return with_real("gate.grad", call.in[0].dtype(), [&]<class T>(T) -> Outputs {
    const auto of = [&](std::size_t i) { return call.in[i].as<Dense>().values.as<T>().data(); };
    const T *dy = of(0), *a = of(1), *b = of(2);
    const Shape shape = call.in[0].shape();
    Outputs out(2);
    if (call.wants(0))
      out[0] = write_each<T>(call.out(0), shape, [=](Index i) { return dy[i] * sigmoid_of(b[i]); });
    if (call.wants(1))
      out[1] = write_each<T>(call.out(1), shape, [=](Index i) {
        return dy[i] * a[i] * sigmoid_of(b[i]) * sigmoid_of(-b[i]);
      });
    return out;
  });
}
const bool has_gate = declare_operator("gate", {SavedForBackward::inputs}) &&
                      add_streamed("gate", {"dense", "dense"}, 1, gate) &&
                      add_streamed("gate.grad", {"dense", "dense", "dense"}, 2, gate_grad);

// For a csr a: computes its stored positions only, and returns them as csr.
Outputs gate_csr(const Call& call) {
  const Tensor &a = call.in[0], &b = call.in[1];
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) fail_usage("gate: a and b differ");
  return with_real("gate", a.dtype(), [&]<class T>(T) -> Outputs {
    const T* y = b.values()->as<T>().data();
    const auto at = slot_offsets(a);
    return {Tensor::update(a, [&](Values& v) {
      T* x = v.mutate<T>().data();
      for (std::size_t k = 0; k < at->size(); ++k) x[k] *= sigmoid_of(y[(*at)[k]]);
    })};
  });
}
const bool has_gate_csr = add_operator({"gate", {"csr", "dense"}, {{"keep-all", "csr"}}}, gate_csr);

// Divides each row of x by its length, and saves the length for the gradient.
Outputs unit_rows(const Call& call) {
  const Tensor &x = call.in[0], length = sqrt(reduce("reduce-sum-square", x, {-1}, true));
  call.save("length", length);
  return {div(x, length)};
}
// (dy - y (dy . y)) / length
Outputs unit_rows_grad(const Call& call) {
  const Tensor &dy = call.in[0], &y = call.in[1];
  return {div(sub(dy, mul(y, sum(mul(dy, y), {-1}, true))), *call.saved("length"))};
}
const bool has_unit_rows =
    declare_operator("unit-rows", {SavedForBackward::outputs}) &&
    add_operator({"unit-rows", {"dense"}, {{}}}, unit_rows) &&
    add_operator({"unit-rows.grad", {"dense", "dense"}, {{}}}, unit_rows_grad);

}  // namespace

TEST_CASE("custom operators are called like built-in operators") {
  const Tensor x = Dense::of({2, 4}, {-3, 0, 1, 2, -1, 4, -2, 3}),
               b = Dense::of({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto by = [](const char* spec) { return registry().sparsifier(Spec::parse(spec)); };
  // A dense result; then only its values of at least 1, written as csr while they are computed.
  const Tensor y = squareplus(x, 1.0);
  const Tensor large = squareplus(x, 1.0, OutFormat::fused(by("threshold:at=1"), Spec("csr")));
  CHECK(large.layout() == "csr");
  CHECK(large.stored().count() == 4);
  // From csr to csr, by the implementation above.
  const Tensor gated = apply("gate", {large, b}, {}, OutFormat::fused(KeepAll{}, Spec("csr")));
  CHECK(gated.layout() == "csr");
  // With a gradient that keeps a random half of its values, as csc.
  Tape tape;
  const Var p = tape.parameter(x, OutFormat::fused(by("random:fraction=0.5"), Spec("csc")));
  tape.backward(apply("gate", {squareplus(p, 2.0), b}), b);
  CHECK(p.grad()->layout() == "csc");
}

TEST_CASE("a format with two sparsifiers keeps the largest of a random half") {
  const auto by = [](const char* spec) { return registry().sparsifier(Spec::parse(spec)); };
  // The first keeps a random half, value by value, as csr; the second keeps the largest of these,
  // an eighth of all values.
  const OutFormat two{by("random:fraction=0.5,seed=1"), Spec("csr"), by("magnitude:sparsity=0.875"),
                      Spec("csr")};
  Dense x = Dense::zeros(DType::F32, {16, 16});
  for (Index i = 0; i < x.size(); ++i) x.values.mutate<float>()[i] = static_cast<float>(i);
  const Mask kept = apply("squareplus", {x}, {}, two).stored(), half = two.inline_by.select(x);
  CHECK(kept.count() == 32);
  Index larger = 0;  // squareplus is increasing: the largest are the last
  for (Index i = x.size() - 1; i >= 0; --i) CHECK(kept[i] == (half[i] && larger++ < 32));
}
