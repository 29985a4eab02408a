// SPDX-License-Identifier: Apache-2.0
// Traces: graphs of the operators that ran.
#include "libsten/model/graph/trace.h"

#include <doctest/doctest.h>

#include "libsten/compute/ops/elementwise/in_place.h"
#include "libsten/model/graph/graph_json.h"
#include "tests/support/parts.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::vector<std::string> names_in(const Graph& g) {
  std::vector<std::string> all;
  for (const Node& n : g.nodes()) all.push_back(n.name);
  return all;
}
using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a trace is the graph of the operators that ran on inputs and weights") {
  Dice dice(1);
  const Tensor x = normals(dice, {5, 4}), w = normals(dice, {3, 4});
  const Formats sparse(OutFormat::fused(registry().sparsifier(Spec("relu")), Spec("csr")),
                       OutFormat::dense());
  Tracer t;
  const Var a = t.input("x", x),
            b = t.weight({"w", {3, 4}, Spec("ones"), {}, {KeepAll{}, Spec("csr")}}, w);
  const Var h = linear(a, b, sparse), y = sum(h, {1}, true);
  const Graph g = t.graph({named("rows", y), h});
  const Graph wanted({{"x"},
                      {{"w", {3, 4}, Spec("ones"), {}, {KeepAll{}, Spec("csr")}}},
                      {{"linear", "linear", {"x", "w"}, {}, sparse},
                       {"rows",
                        "sum",
                        {"linear"},
                        Attributes().set("axes", Attributes::List{1}).set("keep", Index{1})}},
                      {"rows", "linear"}});
  CHECK(to_json(g) == to_json(wanted));
  CHECK(
      same_bits(g.run<Tensor>({{"w", w}}, {{"x", x}}).at("rows").to_dense(), y.value().to_dense()));
}

TEST_CASE("nodes of a trace are named by scope and operator, with a number if the name is taken") {
  Tracer t;
  const Var x = t.input("relu", Dense::of({2}, {1, -1}));
  Var y = relu(x);
  {
    const TraceScope a("block");
    const TraceScope b("inner");
    y = scale(relu(relu(y)), 2);
    b.result(y);
    a.result(y);  // has a name already
  }
  CHECK(TraceScope::path().empty());
  {
    const TraceScope again("block");
    named("mine", y = relu(y));
    again.result(y);
    again.result(x);  // not a variable of this tape
  }
  CHECK(names_in(t.graph({y})) ==
        Names{"relu.1", "block.inner.relu", "block.inner.relu.1", "block.inner", "block.mine"});
  named("block.mine", relu(y));
  CHECK(error_of([&] { t.graph({y}); }) == "trace: two values have the name 'block.mine'");
}

TEST_CASE("a trace records integer operators, in-place operators and constants") {
  Dice dice(2);
  const Tensor x = normals(dice, {3, 4}), table = normals(dice, {4, 2}), bias = normals(dice, {2});
  const auto f = [&](const Var& x, const Var& table) {
    const Var likeliest = arg_max(x, 1);  // has no gradient
    Var y = embedding(table, likeliest);
    add_(y, bias);
    relu_(y);
    View(y, 0, 0, 1).set(Tensor(Dense::of({1, 2}, {7, 7})));
    return sub(y, bias);
  };
  Tracer t;
  const Graph g = t.graph({f(t.input("x", x), t.weight({"table", {4, 2}}, table))});
  CHECK(names_in(g) == Names{"arg-max", "embedding", "add", "relu", "slice-scatter", "sub"});
  REQUIRE(g.constants().size() == 2);  // bias is one constant with two uses
  CHECK(g.constants()[0].name == "constant");
  CHECK(g.constants()[1].name == "constant.1");
  const Tensor other = normals(dice, {3, 4});
  CHECK(same_bits(g.run<Tensor>({{"table", table}}, {{"x", other}}).at("sub").to_dense(),
                  f(Var(other), Var(table)).value().to_dense()));
}

TEST_CASE("a trace rejects outputs that depend on none of its inputs and weights") {
  const Var outside = Tensor(Dense::of({2}, {1, 2}));
  Tracer t;
  const Var x = t.input("x", Dense::of({2}, {1, 2}));
  CHECK(error_of([&] {
          t.graph({x, relu(outside)});
        }) == "trace: output 1 depends on no input and no weight");
  Tape tape;
  const Var p = tape.parameter(Dense::of({2}, {1, 2}));
  CHECK(has(error_of([&] { add(x, p); }), "different tapes"));
  // A trace within another trace records separately.
  {
    const TraceScope scope("outer");
    Tracer inner;
    CHECK(names_in(inner.graph({relu(inner.input("z", x.value()))})) == Names{"relu"});
  }
  CHECK(Tracer::current() == &t);
}
