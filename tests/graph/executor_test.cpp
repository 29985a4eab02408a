#include "libsten/graph/executor.h"

#include <doctest/doctest.h>

#include "libsten/nn/bert.h"
#include "tests/support/tensors.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Two outputs, of which one is an input of the other; a constant, and a value that nobody takes.
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

TEST_CASE(
    "without fusing, an executor gives the bits of the graph, for one shape after the other") {
  const Graph g(small_graph());
  const NamedValues<Tensor> w = initial_weights(g, 1);
  Executor executor(g, w, {.fuse = false});
  for (const Index rows : {5, 5, 2, 7}) {
    const NamedValues<Tensor> inputs{{"x", some_input(rows)}};
    const NamedValues<Tensor> got = executor.run(inputs), wanted = g.run<Tensor>(w, inputs);
    REQUIRE(got.size() == wanted.size());
    for (const auto& [name, y] : wanted)
      CHECK_MESSAGE(same_bits(got.at(name).to_dense(), y.to_dense()), name);
  }
}

TEST_CASE("a plan says what each step runs, and what values take") {
  const Graph g(small_graph());
  Executor executor(g, initial_weights(g, 1), {.fuse = false});
  CHECK(executor.plan().steps.size() == 5);
  executor.run({{"x", some_input(5)}});
  const ExecutionPlan& plan = executor.plan();
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

TEST_CASE("an executor says what is missing, and which node fails") {
  const Graph g(small_graph());
  CHECK(error_of([&] { Executor(g, {}); }) ==
        "the graph is not given what it takes:\n  weight 'a' is missing\n  weight 'b' is missing");
  for (const bool fuse : {false, true}) {
    Executor executor(g, initial_weights(g, 1), {.fuse = fuse});
    CHECK(error_of([&] { executor.run({}); }) ==
          "the graph is not given what it takes:\n  input 'x' is missing");
    Dice dice(1);
    CHECK(error_of([&] {
            executor.run({{"x", normals(dice, {2, 5})}});
          }) == "node 'up': linear: x is [2, 5] but w expects 4 columns");
    CHECK(executor.run({{"x", some_input(3)}}).at("down").shape() == Shape{3, 3});
  }
}
