// SPDX-License-Identifier: Apache-2.0
// Sparse activations: as outputs, as inputs, and with sparse gradients.
#include <doctest/doctest.h>

#include <cmath>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/core/sparsify/same_pattern.h"
#include "libsten/model/graph/sparsity_builder.h"
#include "libsten/model/nn/mlp.h"
#include "tests/autograd/operator_cases.h"
#include "tests/product/sparse_tensors.h"
#include "tests/support/parts.h"
#include "tests/support/strict.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Compares relative to the largest value: sums of up to 300 float32 products in another order.
void check_alike_to(const Tensor& got, const Tensor& wanted, double most = 1e-6) {
  REQUIRE(got.shape() == wanted.shape());
  CHECK(sten::testing::furthest(doubles(got), doubles(wanted)) <= most);
}
// Compares at x's positions.
void check_at_positions(const Tensor& got, const Tensor& wanted, const Tensor& x) {
  CHECK(got.spec() == x.spec());
  CHECK(same_mask(got.stored(), x.stored()));
  check_alike_to(got, masked_by(wanted.to_dense(), x.stored()));
}

Tensor some_of(Dice& dice, const Shape& shape, const char* layout, double share) {
  return registry().pack(normals(dice, shape), random_mask(dice, shape, share), Spec(layout));
}

const OutFormat& positions(const char* layout) {
  static std::map<std::string, OutFormat> all;
  return all.try_emplace(layout, OutFormat::fused(SamePattern{}, Spec(layout))).first->second;
}
Formats relu_in(const char* layout) {
  return {OutFormat::fused(registry().sparsifier(Spec("relu")), Spec(layout)), positions(layout)};
}

}  // namespace

TEST_CASE("linear with csr activations matches dense, forward and backward, without a fallback") {
  const Strict strict;
  Dice dice(1);
  for (const Shape& shape : {Shape{7, 300}, Shape{0, 5}, Shape{3, 4, 17}, Shape{5, 1}})
    for (const double share : {0.0, 0.1, 1.0})
      for (const char* of_w : {"dense", "masked", "csr", "bitmask"})
        for (const char* of_dy : {"dense", "csr", "coo", "masked"}) {
          CAPTURE(to_string(shape));
          CAPTURE(std::string(of_w));
          CAPTURE(std::string(of_dy));
          Shape rows = shape;
          rows.back() = 9;
          const Tensor x = some_of(dice, shape, "csr", share), b = normals(dice, {9}),
                       w = some_of(dice, {9, shape.back()}, of_w, 0.5),
                       dy = some_of(dice, rows, of_dy, 0.4);
          const auto walk = [&](const Tensor& in, const Tensor& back, const OutFormat& grad) {
            Tape tape;
            const Var vx = tape.parameter(in, grad), vw = tape.parameter(w), vb = tape.parameter(b);
            const Var y = linear(vx, vw, vb);
            tape.backward(y, back);
            return std::vector<Tensor>{y.value(), *vx.grad(), *vw.grad(), *vb.grad()};
          };
          // Compares at w's positions, as for a parameter's gradient.
          const auto wanted = walk(x.to_dense(), dy.to_dense(), OutFormat::dense());
          const auto all = walk(x, dy, OutFormat::dense()), some = walk(x, dy, positions("csr"));
          for (const std::size_t i : {0, 1, 2, 3}) check_alike_to(all[i], wanted[i]);
          check_at_positions(some[1], wanted[1], x);
          CHECK(all[2].spec() == w.spec());
        }
}

TEST_CASE("two layers with 90 % sparse csr activations match dense, forward and backward") {
  const Strict strict;
  Dice dice(2);
  const Tensor x = normals(dice, {80, 64}), w = normals(dice, {300, 64}),
               v = normals(dice, {48, 300}), c = normals(dice, {48}), dy = normals(dice, {80, 48});
  Dense b = Dense::zeros(DType::F32, {300});
  std::ranges::fill(b.values.mutate<float>(), -1.2816F * 8);  // sums of 64 products: N(0, 8)
  struct Step {
    Tensor h, y;
    std::vector<Tensor> grads;
  };
  // first: formats of the linear layer; second: formats of the following relu.
  const auto step = [&](const Formats& first, const Formats& second, bool has_relu) {
    Tape tape;
    std::vector<Var> p;
    for (const Tensor& t : {x, w, Tensor(b), v, c}) p.push_back(tape.parameter(t));
    const Var in = linear(p[0], p[1], p[2], first), h = has_relu ? relu(in, second) : in,
              y = linear(h, p[3], p[4]);
    tape.backward(y, dy);
    Step out{h.value(), y.value(), {}};
    for (const Var& t : p) out.grads.push_back(*t.grad());
    return out;
  };
  const Step wanted = step(Formats::dense(), Formats::dense(), true);
  const Formats kept(OutFormat::fused(KeepAll{}, Spec("csr")), positions("csr")),
      back(OutFormat::dense(), OutFormat::fused(KeepAll{}, Spec("csr")));
  // A relu that writes csr; with its gradient in csr too; a linear layer that writes csr; and both.
  for (const Step& got :
       {step(Formats::dense(), Formats(kept.out), true), step(Formats::dense(), kept, true),
        step(back, kept, true), step(relu_in("csr"), {}, false),
        step({relu_in("csr").out, back.grad}, kept, true)}) {
    CHECK(got.h.layout() == "csr");
    const double share = static_cast<double>(got.h.values()->size()) / (80 * 300);
    CHECK(share > 0.08);
    CHECK(share < 0.12);
    check_alike_to(got.h, wanted.h);
    check_alike_to(got.y, wanted.y);
    for (std::size_t i = 0; i < got.grads.size(); ++i)
      check_alike_to(got.grads[i], wanted.grads[i]);
  }
}

TEST_CASE("weight gradients of several layers with csr activations match dense") {
  const Strict strict;
  Dice dice(3);
  const Tensor x = normals(dice, {40, 24}), dy = normals(dice, {40, 10});
  std::vector<Tensor> w;
  for (const Shape& s : {Shape{90, 24}, Shape{70, 90}, Shape{10, 70}})
    w.push_back(normals(dice, s));
  const auto step = [&](bool is_sparse) {
    Tape tape;
    std::vector<Var> p;
    for (const Tensor& t : w) p.push_back(tape.parameter(t));
    Var h = x;
    for (int i = 0; i < 2; ++i)
      h = is_sparse ? linear(h, p[i], relu_in("csr")) : relu(linear(h, p[i]));
    tape.backward(linear(h, p[2]), dy);
    std::vector<Tensor> grads;
    for (const Var& v : p) grads.push_back(*v.grad());
    return grads;
  };
  const auto got = step(true), wanted = step(false);
  for (int i = 0; i < 3; ++i) check_alike_to(got[i], wanted[i]);
}

TEST_CASE("relu accepts csr gradients at positions other than those of its output") {
  const Strict strict;
  Dice dice(4);
  const Tensor x = normals(dice, {6, 20}), dy = some_of(dice, {6, 20}, "csr", 0.4);
  for (const bool is_sparse : {false, true}) {
    Tape tape;
    const Var v = tape.parameter(
        x, is_sparse ? OutFormat::fused(KeepAll{}, Spec("csr")) : OutFormat::dense());
    tape.backward(relu(v, Formats(OutFormat::fused(KeepAll{}, Spec("csr")))), dy);
    CHECK(v.grad()->layout() == (is_sparse ? "csr" : "dense"));
    Tape dense;
    const Var u = dense.parameter(x);
    dense.backward(relu(u), dy.to_dense());
    check_alike_to(*v.grad(), *u.grad());
  }
}

TEST_CASE("linear plans a conversion to csr for x in other sparse layouts") {
  for (const char* layout : {"bitmask", "csc", "coo", "ell", "bcsr", "nm", "nmg"}) {
    const auto plan = operators().plan({"linear", {layout, "dense"}});
    CHECK(plan->kind == DispatchKind::converted);
    CHECK(has(plan->text, std::string("converts ") + layout + " to csr (cost 1)"));
  }
  CHECK(operators().plan({"linear", {"csr", "dense", "dense"}})->kind == DispatchKind::exact);
  CHECK(operators().plan({"linear", {"masked", "dense"}})->kind == DispatchKind::exact);
}
