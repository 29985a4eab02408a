// SPDX-License-Identifier: Apache-2.0
// linear and matmul in every layout with products agree with dense, forward and backward.
#include <doctest/doctest.h>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/compute/product/sparse_product.h"
#include "tests/product/sparse_tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// |got - wanted| <= 2e-6 * terms, because products sum `terms` values around 1.
void check_near(const Tensor& got, const Dense& wanted, Index terms) {
  const Dense g = got.to_dense();
  REQUIRE(g.extents == wanted.extents);
  double worst = 0;
  for (Index i = 0; i < g.size(); ++i)
    worst =
        std::max<double>(worst, std::abs(g.values.as<float>()[i] - wanted.values.as<float>()[i]));
  CHECK(worst <= 2e-6 * static_cast<double>(terms + 1));
}

struct Result {
  Tensor y;
  std::vector<Tensor> grads;
};

// f(vars) and the gradients of all inputs, for a fixed gradient of y.
template <class F>
Result taped(F&& f, const std::vector<Tensor>& in) {
  Tape tape;
  std::vector<Var> vars;
  for (const Tensor& t : in) vars.push_back(tape.parameter(t));
  const Var y = f(vars);
  Dice dice(99);
  tape.backward(y, Tensor(normals(dice, y.shape())));
  Result r{y.value(), {}};
  for (const Var& v : vars) r.grads.push_back(*v.grad());
  return r;
}

std::vector<std::string> specs() {
  std::vector<std::string> all = sparse_specs;
  all.push_back("dense");
  return all;
}

Tensor weight(Dice& dice, const Shape& shape, const std::string& spec) {
  const Dense x = normals(dice, shape);
  return spec == "dense" ? Tensor(x) : sparse_tensor(dice, x, Spec::parse(spec));
}

}  // namespace

TEST_CASE("linear with weights in every layout matches dense, forward and backward") {
  Dice dice(1);
  const auto f = [](const std::vector<Var>& v) {
    return v.size() == 3 ? linear(v[0], v[1], v[2]) : linear(v[0], v[1]);
  };
  std::vector<std::string> log;
  Operators::log_plans(&log);
  for (const std::string& spec : specs())
    for (const Shape& shape : {Shape{23}, Shape{5, 23}, Shape{2, 3, 23}, Shape{0, 23}})
      for (const bool has_bias : {false, true}) {
        CAPTURE(spec);
        CAPTURE(to_string(shape));
        const Tensor w = weight(dice, {11, 23}, spec);
        std::vector<Tensor> in(has_bias ? 3 : 2, w);
        in[0] = normals(dice, shape);
        if (has_bias) in[2] = normals(dice, {11});
        const Result got = taped(f, in);
        in[1] = w.to_dense();
        const Result wanted = taped(f, in);
        check_near(got.y, wanted.y.to_dense(), 23);
        check_near(got.grads[0], wanted.grads[0].to_dense(), 11);
        CHECK(got.grads[1].spec() == w.spec());
        check_near(got.grads[1], masked_by(wanted.grads[1].to_dense(), w.stored()), 6);
        if (has_bias) check_near(got.grads[2], wanted.grads[2].to_dense(), 6);
      }
  Operators::log_plans(nullptr);
  for (const std::string& text : log) CHECK_MESSAGE(has(text, ": exact"), text);
}

TEST_CASE("conv with weights in every layout matches dense, forward and backward") {
  Dice dice(6);
  struct Case {
    Shape x, w;
    Attributes attributes;
  };
  const Attributes plain;
  const auto lists = [](std::vector<Index> strides, std::vector<Index> pads) {
    return Attributes()
        .set("strides", Attributes::Value(strides))
        .set("pads", Attributes::Value(pads));
  };
  const std::vector<Case> cases{{{2, 3, 4, 12}, {10, 12, 1, 1}, plain},
                                {{2, 6, 5, 12}, {10, 12, 1, 1}, lists({2, 2}, {0, 0, 0, 0})},
                                {{3, 6, 5, 3}, {10, 3, 3, 3}, lists({1, 1}, {1, 1, 1, 1})},
                                {{2, 9, 4}, {7, 4, 3}, lists({2}, {1, 0})}};
  std::vector<std::string> log;
  Operators::log_plans(&log);
  for (const std::string& spec : specs())
    for (const Case& c : cases)
      for (const bool has_bias : {false, true}) {
        CAPTURE(spec);
        CAPTURE(to_string(c.w));
        const auto f = [&](const std::vector<Var>& v) {
          return has_bias ? conv(v[0], v[1], v[2], c.attributes) : conv(v[0], v[1], c.attributes);
        };
        const Tensor w = weight(dice, c.w, spec);
        std::vector<Tensor> in{normals(dice, c.x), w};
        if (has_bias) in.emplace_back(normals(dice, {c.w[0]}));
        const Result got = taped(f, in);
        in[1] = w.to_dense();
        const Result wanted = taped(f, in);
        check_near(got.y, wanted.y.to_dense(), 40);
        check_near(got.grads[0], wanted.grads[0].to_dense(), 40);
        CHECK(got.grads[1].spec() == w.spec());
        check_near(got.grads[1], masked_by(wanted.grads[1].to_dense(), w.stored()), 40);
        if (has_bias) check_near(got.grads[2], wanted.grads[2].to_dense(), 40);
      }
  Operators::log_plans(nullptr);
  for (const std::string& text : log) CHECK_MESSAGE(has(text, ": exact"), text);
}

TEST_CASE("matmul with a sparse factor on either side matches dense, forward and backward") {
  Dice dice(2);
  const auto f = [](const std::vector<Var>& v) { return matmul(v[0], v[1]); };
  for (const std::string& spec : specs()) {
    CAPTURE(spec);
    for (const Shape& batch : {Shape{}, Shape{3}, Shape{2, 2}}) {
      const auto with = [&](Index rows, Index cols) {
        Shape s = batch;
        s.push_back(rows);
        s.push_back(cols);
        return s;
      };
      const Tensor w = weight(dice, {11, 23}, spec);
      const Mask stored = w.stored();
      {
        const Tensor b = normals(dice, with(23, 7));
        const Result got = taped(f, {w, b}), wanted = taped(f, {w.to_dense(), b});
        check_near(got.y, wanted.y.to_dense(), 23);
        CHECK(got.grads[0].spec() == w.spec());
        check_near(got.grads[0], masked_by(wanted.grads[0].to_dense(), stored), 28);
        check_near(got.grads[1], wanted.grads[1].to_dense(), 11);
      }
      const Tensor a = normals(dice, with(5, 11));
      const Result got = taped(f, {a, w}), wanted = taped(f, {a, w.to_dense()});
      check_near(got.y, wanted.y.to_dense(), 11);
      check_near(got.grads[0], wanted.grads[0].to_dense(), 23);
      CHECK(got.grads[1].spec() == w.spec());
      check_near(got.grads[1], masked_by(wanted.grads[1].to_dense(), stored), 20);
    }
  }
}

TEST_CASE("matmul broadcasts batches as in NumPy, and gradients have the operands' shapes") {
  Dice dice(3);
  const auto f = [](const std::vector<Var>& v) { return matmul(v[0], v[1]); };
  const Tensor a = normals(dice, {2, 1, 3, 4}), b = normals(dice, {5, 4, 2});
  const Result got = taped(f, {a, b});
  CHECK(got.y.shape() == Shape{2, 5, 3, 2});
  const auto at = [](const Tensor& t, Index i) { return t.values()->as<float>()[i]; };
  for (Index i = 0; i < 2; ++i)
    for (Index j = 0; j < 5; ++j)
      for (Index r = 0; r < 3; ++r)
        for (Index c = 0; c < 2; ++c) {
          double sum = 0;
          for (Index k = 0; k < 4; ++k)
            sum += at(a, (i * 3 + r) * 4 + k) * at(b, (j * 4 + k) * 2 + c);
          CHECK(at(got.y, ((i * 5 + j) * 3 + r) * 2 + c) == doctest::Approx(sum).epsilon(1e-5));
        }
  CHECK(got.grads[0].shape() == a.shape());
  CHECK(got.grads[1].shape() == b.shape());
}

TEST_CASE("the gradient of a matrix multiplied by an empty batch is 0") {
  const auto f = [](const std::vector<Var>& v) { return matmul(v[0], v[1]); };
  Dice dice(6);
  for (const auto& [a, b] : {std::pair<Shape, Shape>{{1, 5, 6}, {0, 6, 7}}, {{0, 5, 6}, {6, 7}}}) {
    const Result got = taped(f, {normals(dice, a), normals(dice, b)});
    CHECK(floats(got.grads[0].to_dense()) == std::vector<float>(size_of(a)));
    CHECK(floats(got.grads[1].to_dense()) == std::vector<float>(size_of(b)));
  }
}

TEST_CASE("the weight gradient of conv over an empty batch is 0") {
  const auto f = [](const std::vector<Var>& v) { return conv(v[0], v[1]); };
  Dice dice(7);
  const Result got = taped(f, {normals(dice, {0, 5, 6, 4}), normals(dice, {3, 4, 3, 3})});
  CHECK(floats(got.grads[1].to_dense()) == std::vector<float>(3 * 4 * 3 * 3));
}

TEST_CASE("outputs and gradients of products in sparse formats match sparsified dense ones") {
  Dice dice(4);
  const Tensor x = normals(dice, {37, 23}), w = weight(dice, {11, 23}, "nmg:n=1,m=4,g=3"),
               d = normals(dice, {11, 23}), b = normals(dice, {23, 37});
  for (const char* by : {"threshold:at=2", "random:fraction=0.5,seed=3", "nm:n=1,m=4", "relu"})
    for (const char* to : {"csr", "csc", "coo", "bitmask", "masked", "dense", "bcsr:h=2,w=2"}) {
      CAPTURE(by);
      CAPTURE(to);
      const Sparsifier s = registry().sparsifier(Spec::parse(by));
      const OutFormat format = OutFormat::fused(s, Spec::parse(to));
      const auto same = [&](const Tensor& got, const Tensor& dense) {
        CHECK(got.spec() == Spec::parse(to));
        const Dense wanted = masked_by(dense.to_dense(), s.select(dense.to_dense()));
        check_near(got, wanted, 40);
      };
      for (const Tensor& weight : {w, d}) {
        same(linear(x, weight, format), linear(x, weight));
        same(matmul(weight, b, format), matmul(weight, b));
        const auto grads = [&](const OutFormat& of) {
          Tape tape;
          const Var vx = tape.parameter(x, of), vw = tape.parameter(weight, of);
          Dice again(5);
          tape.backward(linear(vx, vw), Tensor(normals(again, {37, 11})));
          return std::pair(*vx.grad(), *vw.grad());
        };
        const auto got = grads(format), dense = grads({});
        same(got.first, dense.first);
        same(got.second, dense.second);
      }
    }
}

TEST_CASE("products reject mismatched operands and gradients") {
  const auto why = [](auto&& f) { return error_of(f); };
  const Tensor x = Dense::zeros(DType::F32, {8, 768}), w = Dense::zeros(DType::F32, {10, 1024}),
               d = Dense::zeros(DType::F64, {10, 768});
  CHECK(why([&] { linear(x, w); }) == "linear: x is [8, 768] but w has 1024 columns");
  CHECK(why([&] { linear(x, d); }) == "linear: x is F32 but w is F64");
  CHECK(why([&] { linear(w, w, x); }) == "linear: b is [8, 768] but w has 10 rows");
  CHECK(why([&] { matmul(x, w); }) ==
        "matmul: a is [8, 768] but b is [10, 1024], which cannot be multiplied");
  // And gradients that do not fit the output.
  const Attributes none;
  const OutFormat* both[] = {&OutFormat::dense(), &OutFormat::dense()};
  const Tensor right = Dense::zeros(DType::F32, {768, 4}), v = Dense::zeros(DType::F32, {5, 768});
  for (const Tensor& dy :
       {Tensor(Dense::zeros(DType::F32, {8, 3})), Tensor(Dense::zeros(DType::F64, {8, 5}))}) {
    const Tensor in[] = {dy, x, v};
    CHECK(has(why([&] { run("linear.grad", {in, both, none}); }), "the gradient is"));
    const Tensor factors[] = {dy, x, right};
    CHECK(has(why([&] { run("matmul.grad", {factors, both, none}); }), "the gradient is"));
  }
}

TEST_CASE("an empty output can have the layout masked") {
  const Tensor y =
      scale(Tensor(Dense::zeros(DType::F32, {0})), 2, OutFormat::fused(KeepAll{}, Spec("masked")));
  CHECK(y.layout() == "masked");
  CHECK(y.shape() == Shape{0});
}
