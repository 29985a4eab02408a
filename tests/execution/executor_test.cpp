// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/execution/executor.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "libsten/core/base/parallel.h"
#include "tests/support/small_bert.h"
#include "tests/support/tensors.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Two outputs, one of which is an input of the other; a constant, and an unused value.
GraphParts small_graph() {
  return {{"x"},
          {{"a", {6, 4}, Spec::parse("normal:std=1")}, {"b", {3, 6}, Spec::parse("normal:std=1")}},
          {{"up", "linear", {"x", "a"}},
           {"unused", "relu", {"up"}},
           {"moved", "add", {"up", "shift"}},
           {"down", "linear", {"moved", "b"}},
           {"sum", "sum", {"down"}, Attributes().set("axes", Attributes::List{0, 1})}},
          {"down", "sum"},
          {{"shift", Dense::of({1}, {0.5F})}}};
}

Tensor some_input(Index rows) {
  Dice dice(static_cast<std::uint64_t>(rows));
  return normals(dice, {rows, 4});
}

}  // namespace

TEST_CASE("without fusion, an executor is bit-identical to the graph at changing shapes") {
  const Graph g(small_graph());
  const NamedValues<Tensor> w = initial_weights(g, 1);
  Executor executor(g, w, {.fuse = false});
  for (const Index rows : {5, 5, 2, 7}) {
    const NamedValues<Tensor> inputs{{"x", some_input(rows)}};
    const NamedValues<Tensor> got = executor.run(inputs), wanted = g.run<Tensor>(w, inputs);
    REQUIRE(got.size() == wanted.size());
    for (const auto& y : wanted)
      CHECK_MESSAGE(same_bits(got.at(y.first).to_dense(), y.second.to_dense()), y.first);
  }
}

TEST_CASE("a plan reports the operator, flops and bytes of a step, and the memory of values") {
  const Graph g(small_graph());
  Executor executor(g, initial_weights(g, 1), {.fuse = false});
  CHECK(executor.plan().steps.empty());
  executor.run({{"x", some_input(5)}});
  const ExecutionPlan& plan = executor.plan();
  REQUIRE(plan.steps.size() == 5);
  CHECK(plan.steps[0].nodes == std::vector<std::string>{"up"});
  CHECK(plan.steps[0].runs == "linear");
  CHECK(plan.steps[0].why == "linear(dense, dense) -> keep-all/dense: exact");
  CHECK(plan.steps[0].flops == 2 * 5 * 6 * 4);
  CHECK(plan.steps[0].bytes == 4 * (5 * 4 + 6 * 4 + 5 * 6));
  CHECK(plan.weight_bytes == 4 * (6 * 4 + 3 * 6 + 1));
  // "up" and either "unused" or "moved".
  CHECK(plan.live_bytes == 4 * 2 * 5 * 6);
  CHECK(plan.peak_bytes >= plan.live_bytes);
}

TEST_CASE("an executor reports missing weights and inputs, and the node that fails") {
  const Graph g(small_graph());
  CHECK(error_of([&] { Executor(g, {}); }) ==
        "the graph's inputs do not match:\n  missing weight 'a'\n  missing weight 'b'");
  for (const bool fuse : {false, true}) {
    Executor executor(g, initial_weights(g, 1), {.fuse = fuse});
    CHECK(error_of([&] { executor.run({}); }) ==
          "the graph's inputs do not match:\n  missing input 'x'");
    Dice dice(1);
    CHECK(error_of([&] {
            executor.run({{"x", normals(dice, {2, 5})}});
          }) == "node 'up': linear: x is [2, 5] but w has 4 columns");
    CHECK(executor.run({{"x", some_input(3)}}).at("down").shape() == Shape{3, 3});
  }
}

TEST_CASE("out-of-memory errors name the node") {
  Dense shape = Dense::zeros(DType::I64, {1});
  shape.values.mutate<std::int64_t>()[0] = std::int64_t{1} << 50;
  const Graph g({{"x"}, {}, {{"y", "expand", {"x", "shape"}}}, {"y"}, {{"shape", shape}}});
  const NamedValues<Tensor> inputs{{"x", Dense::of({1}, {1})}};
  CHECK(error_of([&] { g.run<Tensor>({}, inputs); }) == "node 'y': out of memory");
  for (const bool fuse : {false, true})
    CHECK(error_of([&] { Executor(g, {}, {.fuse = fuse}).run(inputs); }) ==
          "node 'y': out of memory");
}

namespace {

double furthest_of(const NamedValues<Tensor>& a, const NamedValues<Tensor>& b) {
  double worst = 0;
  REQUIRE(a.size() == b.size());
  for (const auto& [name, x] : a) {
    const std::vector<float> p = floats(x.to_dense()), q = floats(b.at(name).to_dense());
    REQUIRE(x.shape() == b.at(name).shape());
    for (std::size_t i = 0; i < p.size(); ++i)
      worst = std::max(worst, std::abs(double{p[i]} - double{q[i]}));
  }
  return worst;
}

bool has_step(const ExecutionPlan& plan, std::string_view runs) {
  return std::ranges::any_of(plan.steps, [&](const ExecutionStep& s) { return s.runs == runs; });
}

}  // namespace

TEST_CASE("a fused BERT matches its unfused operators within rounding and is deterministic") {
  for (const bool masked : {false, true}) {
    const Graph g = bert(small_bert(), {.mask = masked});
    for (const char* layout : {"dense", "csr", "masked", "bcsr:h=4,w=4"}) {
      CAPTURE(layout);
      const NamedValues<Tensor> w = bert_weights(g, layout, 4);
      Executor fused(g, w), plain(g, w, {.fuse = false});
      // Sequences that start at panel boundaries, others, narrow panels, and sizes in between.
      struct Window {
        Index batch, tokens;
        bool in_panels;
      };
      for (const Window& of :
           {Window{3, 64, true}, Window{3, 37, true}, Window{3, 80, true}, Window{1, 16, true},
            Window{2, 7, true}, Window{5, 3, true}, Window{1, 3, true}, Window{3, 8, false},
            Window{4, 16, true}, Window{1, 1, true}}) {
        CAPTURE(of.batch);
        CAPTURE(of.tokens);
        const NamedValues<Tensor> inputs = bert_values(of.batch, of.tokens, masked);
        const int before = threads();
        set_threads(1);
        const NamedValues<Tensor> first = fused.run(inputs), again = fused.run(inputs);
        CHECK(furthest_of(first, plain.run(inputs)) < 1e-5);
        CHECK(furthest_of(first, again) == 0);
        set_threads(3);
        CHECK(furthest_of(fused.run(inputs), first) == 0);
        set_threads(before);
        CHECK(has_step(fused.plan(), "linear + gelu") == of.in_panels);
        CHECK(has_step(fused.plan(), "linear + add") == of.in_panels);
      }
    }
  }
}

TEST_CASE("n:m:g weights are fused like other layouts") {
  const Graph g = bert(small_bert());
  const NamedValues<Tensor> w = bert_weights(g, "nmg:n=1,m=4,g=4", 1);
  Executor fused(g, w), plain(g, w, {.fuse = false});
  const NamedValues<Tensor> inputs = bert_values(2, 64, false);
  CHECK(furthest_of(fused.run(inputs), plain.run(inputs)) < 1e-5);
  const ExecutionPlan& plan = fused.plan();
  const auto up = std::ranges::find_if(
      plan.steps, [](const ExecutionStep& s) { return s.runs == "linear + gelu"; });
  REQUIRE(up != plan.steps.end());
  CHECK(up->nodes ==
        std::vector<std::string>{"bert.encoder.layer.0.intermediate.dense",
                                 "bert.encoder.layer.0.intermediate.intermediate_act_fn"});
  CHECK(up->layout == "nmg:n=1,m=4,g=4");
  CHECK(up->flops == 2.0 * 128 * 48 * 112 / 4);
  CHECK(plan.peak_bytes > 0);
}

TEST_CASE("fusion preserves values that several nodes read and values that are outputs") {
  // "up" is used by a relu, an add and a product; "sum" is an output and is used; "twice" adds a
  // value to itself; "b" follows "a" without a node to fuse between them.
  const Graph g({{"x", "y"},
                 {{"w", {40, 40}, Spec::parse("normal:std=0.2")},
                  {"one", {40}, Spec("ones")},
                  {"zero", {40}, Spec("zeros")}},
                 {{"up", "linear", {"x", "w"}},
                  {"active", "relu", {"up"}},
                  {"sum", "add", {"active", "up"}},
                  {"twice", "add", {"sum", "sum"}},
                  {"normal", "layer-norm", {"twice", "one", "zero"}},
                  {"late", "add", {"normal", "y"}},
                  {"down", "linear", {"late", "w", "zero"}},
                  {"first", "add", {"down", "up"}},
                  {"a", "tanh", {"first"}},
                  {"b", "sigmoid", {"a"}},
                  {"other", "linear", {"b", "w"}},
                  {"behind", "gelu", {"other"}},
                  {"end", "add", {"behind", "y"}}},
                 {"sum", "end", "y"}});
  Dice dice(8);
  const NamedValues<Tensor> inputs{{"x", normals(dice, {70, 40})}, {"y", normals(dice, {70, 40})}};
  const NamedValues<Tensor> w = initial_weights(g, 2);
  Executor fused(g, w);
  const NamedValues<Tensor> wanted = g.run<Tensor>(w, inputs);
  for (int run = 0; run < 3; ++run) CHECK(furthest_of(fused.run(inputs), wanted) < 1e-5);
  CHECK(has_step(fused.plan(), "linear + add"));
  CHECK(has_step(fused.plan(), "linear + gelu"));
}

TEST_CASE("an executor handles shapes that depend on values and change between runs") {
  const Graph g({{"x", "mask"},
                 {{"w", {8, 8}, Spec::parse("normal:std=0.2")}},
                 {{"places", "non-zero", {"mask"}},
                  {"rows", "reshape", {"places"}, Attributes().set("shape", Attributes::List{-1})},
                  {"some", "embedding", {"x", "rows"}},
                  {"up", "linear", {"some", "w"}}},
                 {"up"}});
  Dice dice(8);
  const Tensor x = normals(dice, {100, 8});
  const NamedValues<Tensor> w = initial_weights(g, 2);
  Executor fused(g, w);
  for (const Index count : {70, 70, 50, 100, 20, 90}) {
    Dense mask = Dense::zeros(DType::F32, {100});
    for (Index i = 0; i < count; ++i) mask.values.mutate<float>()[(i * 7) % 100] = 1;
    const NamedValues<Tensor> inputs{{"x", x}, {"mask", mask}};
    CHECK(furthest_of(fused.run(inputs), g.run<Tensor>(w, inputs)) < 1e-5);
  }
}

TEST_CASE("a sum of embeddings is one step with the operator's error for an id out of range") {
  const Graph g = bert(small_bert());
  const NamedValues<Tensor> w = bert_weights(g, "dense", 4);
  Executor fused(g, w), plain(g, w, {.fuse = false});
  const auto with_ids = [](DType dtype, Index last) {
    NamedValues<Tensor> inputs = bert_values(2, 40, false);
    Dense ids = Dense::zeros(dtype, {2, 40});
    if (dtype == DType::I64)
      ids.values.mutate<std::int64_t>()[79] = last;
    else
      ids.values.mutate<std::int32_t>()[79] = static_cast<std::int32_t>(last);
    inputs.insert_or_assign("input_ids", ids);
    return inputs;
  };
  for (const DType dtype : {DType::I64, DType::I32})
    for (int run = 0; run < 2; ++run) {
      const NamedValues<Tensor> inputs = with_ids(dtype, 7);
      CHECK(furthest_of(fused.run(inputs), plain.run(inputs)) < 1e-5);
      CHECK(has_step(fused.plan(), "embedding + embedding + embedding + add + add"));
      const NamedValues<Tensor> wrong = with_ids(dtype, 50);
      const std::string error = error_of([&] { plain.run(wrong); });
      CHECK(error.find("ids[1, 39] is 50") != std::string::npos);
      CHECK(error_of([&] { fused.run(wrong); }) == error);
    }
}
