// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "libsten/compute/ops/elementwise/comparison.h"
#include "libsten/core/registry/builtin.h"
#include "tests/autograd/operator_cases.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// The slope of dot(y, dy) along element k of input i, by central differences.
double slope(const OperatorCase& c, const std::vector<Tensor>& in, const std::vector<double>& dy,
             std::size_t i, Index k) {
  constexpr double h = 1e-5;
  double ends[2];
  for (const int side : {0, 1}) {
    std::vector<Tensor> moved = in;
    moved[i] =
        Tensor::update(in[i], [&](Values& v) { v.mutate<double>()[k] += side == 0 ? -h : h; });
    ends[side] = dot(doubles(apply(c.op, moved, c.attributes)), dy);
  }
  return (ends[1] - ends[0]) / (2 * h);
}

// Compares with a difference quotient: outputs around 1 have errors of 1e-16, which are divided by
// 2e-5.
bool is_slope(double a, double slope) {
  return std::abs(a - slope) <= 1e-6 * std::abs(slope) + 1e-9;
}

std::vector<std::string> built_in() {
  Operators all(registry());
  add_builtin_operators(all);
  std::vector<std::string> names;
  for (const Name op : all.all()) names.emplace_back(op.text());
  return names;
}

// Operators without a gradient, whose outputs are integers or piecewise constant.
bool has_no_gradient(const std::string& op) {
  static const std::set<std::string_view> all{"batch-moments",
                                              "conv-relu",
                                              "max-pool-indices",
                                              "not",
                                              "arg-max",
                                              "arg-min",
                                              "top-k-indices",
                                              "shape",
                                              "size",
                                              "range",
                                              "constant-of-shape",
                                              "is-nan",
                                              "is-inf",
                                              "mod",
                                              "bit-shift",
                                              "one-hot",
                                              "eye-like",
                                              "hardmax",
                                              "non-zero",
                                              "unique",
                                              "unique-indices",
                                              "unique-inverse",
                                              "unique-counts"};
  return all.contains(op) || std::ranges::count(comparison_rows(), op, &ComparisonRow::name) > 0;
}

// A list attribute; a scalar is a list of one.
List list_in(const Attributes& attributes, const std::string& name) {
  for (const auto& [key, value] : attributes.all()) {
    if (key != name) continue;
    if (const Index* i = std::get_if<Index>(&value)) return {*i};
    return std::get<List>(value);
  }
  return {};
}

}  // namespace

TEST_CASE("every differentiable operator has a gradient and, except for cast, test cases") {
  const std::vector<std::string> all = built_in();
  const std::set<std::string> names(all.begin(), all.end());
  for (const auto* cases : {&operator_cases(), &large_cases()}) {
    std::set<std::string> covered;
    for (const OperatorCase& c : *cases) covered.insert(c.op);
    for (const std::string& op : names) {
      CAPTURE(op);
      if (has_no_gradient(op))
        CHECK_FALSE(names.contains(op + ".grad"));
      else if (op.ends_with(".grad"))
        CHECK(names.contains(op.substr(0, op.size() - 5)));
      else
        CHECK(names.contains(op + ".grad"));
      // A cast has another dtype than these tests, and its own ones.
      if (!op.ends_with(".grad") && !has_no_gradient(op) && op != "cast")
        CHECK(covered.contains(op));
    }
  }
}

TEST_CASE("gradients of operators match central differences in F64") {
  for (const OperatorCase& c : operator_cases()) {
    const std::vector<Tensor> in = inputs_of(c, DType::F64);
    const Walked w = walk(c, DType::F64);
    const std::vector<double> dy = doubles(w.dy);
    for (std::size_t i = 0; i < in.size(); ++i) {
      CAPTURE(c.op);
      CAPTURE(c.attributes.str());
      CAPTURE(i);
      REQUIRE(w.dx[i].has_value() == (in[i].dtype() == DType::F64));
      if (!w.dx[i]) continue;
      REQUIRE(w.dx[i]->shape() == in[i].shape());
      const std::vector<double> dx = doubles(*w.dx[i]);
      for (std::size_t k = 0; k < dx.size(); ++k) {
        const double expected = slope(c, in, dy, i, static_cast<Index>(k));
        CHECK_MESSAGE(is_slope(dx[k], expected), k, ": ", dx[k], " is not ", expected);
      }
    }
  }
}

TEST_CASE("gradients are bit-identical whether lists are inputs or attributes") {
  // Names of the inputs after the first; "" for the scalar value of pad.
  const std::map<std::string, std::vector<std::string>> inputs{
      {"reshape", {"shape"}},
      {"squeeze", {"axes"}},
      {"unsqueeze", {"axes"}},
      {"slice", {"begins", "ends", "axes", "steps"}},
      {"expand", {"shape"}},
      {"tile", {"repeats"}},
      {"pad", {"pads", "", "axes"}},
      {"trilu", {"k"}},
      {"cum-sum", {"axis"}},
      {"top-k", {"k"}},
      {"sum", {"axes"}},
      {"mean", {"axes"}}};
  std::set<std::string> seen;
  for (const OperatorCase& c : operator_cases()) {
    if (!inputs.contains(c.op) && !c.op.starts_with("reduce-")) continue;
    CAPTURE(c.op);
    CAPTURE(c.attributes.str());
    const Walked wanted = walk(c, DType::F32);
    Tape tape;
    const Var x = tape.parameter(inputs_of(c, DType::F32)[0]);
    std::vector<Var> in{x};
    std::set<std::string> given;
    for (const std::string& name : inputs.at(c.op.starts_with("reduce-") ? "sum" : c.op)) {
      // If an input is missing, the following inputs are missing too.
      if (!name.empty() && !c.attributes.has(name)) break;
      given.insert(name);
      const List list = name.empty() ? List{0} : list_in(c.attributes, name);
      Dense numbers = Dense::zeros(name.empty() ? DType::F32 : DType::I64, {std::ssize(list)});
      if (!name.empty()) std::ranges::copy(list, numbers.values.mutate<std::int64_t>().begin());
      in.push_back(Var(Tensor(numbers)));
    }
    if (in.size() > 1) seen.insert(c.op);
    Attributes rest;
    for (const auto& [name, value] : c.attributes.all())
      if (!given.contains(name)) rest.set(name, value);
    tape.backward(tape.apply(c.op, in, rest), wanted.dy);
    CHECK(same_bits(x.grad()->to_dense(), wanted.dx[0]->to_dense()));
  }
  for (const auto& of : inputs) {
    CAPTURE(of.first);
    CHECK(seen.contains(of.first));
  }
}

TEST_CASE("operators and their gradients in F32 match those in F64 within rounding errors") {
  for (const auto* cases : {&operator_cases(), &large_cases()})
    for (const OperatorCase& c : *cases) {
      CAPTURE(c.op);
      CAPTURE(c.attributes.str());
      // Products add up to 300 terms in float.
      const bool has_products = c.op == "linear" || c.op == "matmul" || c.op == "attention" ||
                                c.op == "einsum" || c.op == "mixture-of-experts" || c.op == "lora";
      const double tolerance = has_products ? 5e-5 : 2e-6;
      const Walked a = walk(c, DType::F32), b = walk(c, DType::F64);
      const auto same = [&](const Tensor& x, const Tensor& exact) {
        const std::vector<double> p = doubles(x), q = doubles(exact);
        CHECK(x.dtype() == DType::F32);
        REQUIRE(p.size() == q.size());
        CHECK(furthest(p, q) < tolerance);
      };
      same(a.y, b.y);
      for (std::size_t i = 0; i < a.dx.size(); ++i)
        if (a.dx[i]) same(*a.dx[i], *b.dx[i]);
    }
}

TEST_CASE("operators and their gradients are bit-identical on 1, 2 and 3 threads") {
  for (const OperatorCase& c : large_cases()) {
    CAPTURE(c.op);
    std::optional<Walked> one;
    for (const int n : {1, 2, 3}) {
      CAPTURE(n);
      const Threads with(n);
      Walked w = walk(c, DType::F32);
      if (!one) one = w;
      CHECK(same_bits(w.y.to_dense(), one->y.to_dense()));
      for (std::size_t i = 0; i < w.dx.size(); ++i)
        if (w.dx[i]) CHECK(same_bits(w.dx[i]->to_dense(), one->dx[i]->to_dense()));
    }
  }
}

TEST_CASE("outputs and gradients in a sparse format equal the sparsified dense results") {
  const Warnings warnings;  // fallbacks of the conversions below
  const Sparsifier by = Threshold{0.5};
  for (const auto* cases : {&operator_cases(), &large_cases()})
    for (const OperatorCase& c : *cases) {
      const Walked dense = walk(c, DType::F32);
      for (const std::string layout : {"masked", "csr"}) {
        CAPTURE(c.op);
        CAPTURE(c.attributes.str());
        CAPTURE(layout);
        const OutFormat format = OutFormat::fused(by, Spec(layout));
        const auto has_format = [&](const Shape& s) { return layout == "masked" || s.size() > 1; };
        const auto check = [&](const Tensor& got, const Tensor& x) {
          CHECK(got.layout() == layout);
          CHECK(same_bits(got.to_dense(), sparsify(x, by, Spec(layout)).to_dense()));
        };
        if (has_format(dense.y.shape()))
          check(apply(c.op, inputs_of(c, DType::F32), c.attributes, format), dense.y);
        Tape tape;
        std::vector<Var> in;
        for (Tensor& x : inputs_of(c, DType::F32)) {
          const bool is_real = x.dtype() == DType::F32, is_fused = has_format(x.shape());
          in.push_back(is_real ? tape.parameter(x, is_fused ? format : OutFormat{}) : Var(x));
        }
        tape.backward(tape.apply(c.op, in, c.attributes), dense.dy);
        for (std::size_t i = 0; i < in.size(); ++i)
          if (in[i].wants_grad() && has_format(in[i].shape())) check(*in[i].grad(), *dense.dx[i]);
      }
    }
}
