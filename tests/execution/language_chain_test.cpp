// SPDX-License-Identifier: Apache-2.0
// Chains of the operators of language models.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "libsten/core/base/parallel.h"
#include "libsten/model/execution/executor.h"
#include "tests/support/llama_graph.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

constexpr LlamaShape small{2, 48, 6, 2, 12, 80, 30};

NamedValues<Tensor> inputs_of(Index batch, Index tokens, Index first = 0) {
  Dense ids = Dense::zeros(DType::I64, {batch, tokens}), at = Dense::zeros(DType::I64, {tokens});
  for (Index i = 0; i < ids.size(); ++i) ids.values.mutate<std::int64_t>()[i] = i * i * 31 % 30;
  for (Index i = 0; i < tokens; ++i) at.values.mutate<std::int64_t>()[i] = first + i;
  return {{"input_ids", ids}, {"position_ids", at}};
}

double furthest(const Tensor& a, const Tensor& b) {
  const std::vector<float> x = floats(a.to_dense()), y = floats(b.to_dense());
  REQUIRE(x.size() == y.size());
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, std::abs(double{x[i]} - double{y[i]}));
  return worst;
}

std::vector<std::string> runs_of(const ExecutionPlan& plan) {
  std::vector<std::string> all;
  for (const ExecutionStep& s : plan.steps) all.push_back(s.runs);
  return all;
}

}  // namespace

// Values of so many features leave room for one panel at a time, so the last group can have few
// tokens.
TEST_CASE("the last, partial group of tokens of a wide chain matches the reference") {
  const Index wide = 26'000;
  const Spec init = Spec::parse("normal:std=0.1");
  GraphParts parts{{"x"}, {{"up", {wide, 8}, init}, {"down", {8, wide}, init}}, {}, {"y"}};
  parts.nodes = {
      {"h", "linear", {"x", "up"}}, {"a", "relu", {"h"}}, {"y", "linear", {"a", "down"}}};
  const Graph g(std::move(parts));
  const NamedValues<Tensor> w = initial_weights(g, 5);
  Executor low(g, w, {.precision = {{"*", Precision::bf16}}});
  const Threads one(1);
  Dice dice(1);
  for (const Index tokens : {128, 129, 133, 150}) {
    CAPTURE(tokens);
    const NamedValues<Tensor> in{{"x", normals(dice, {tokens, 8})}};
    const Tensor wanted = g.run<Tensor>(w, in).at("y");
    double most = 0;
    for (const float v : floats(wanted.to_dense())) most = std::max(most, std::abs(double{v}));
    CHECK(furthest(low.run(in).at("y"), wanted) < 0.03 * most);
  }
}

TEST_CASE("fused Llama blocks match their operators in float32 and bfloat16") {
  const Graph g = llama_graph(small);
  const NamedValues<Tensor> w = initial_weights(g, 3);
  Executor fused(g, w), low(g, w, {.precision = {{"*", Precision::bf16}}});
  struct Tokens {
    Index batch, tokens;
  };
  for (const Tokens& of : std::vector<Tokens>{{1, 1}, {1, 5}, {3, 2}, {1, 40}, {2, 64}, {2, 100}}) {
    const Index batch = of.batch, tokens = of.tokens;
    CAPTURE(batch);
    CAPTURE(tokens);
    // Later runs of a plan have other positions.
    for (const Index first : {0, 7}) {
      const NamedValues<Tensor> in = inputs_of(batch, tokens, first);
      const Tensor wanted = g.run<Tensor>(w, in).at("lm_head");
      CHECK(furthest(fused.run(in).at("lm_head"), wanted) < 2e-5);
      CHECK(furthest(low.run(in).at("lm_head"), wanted) < 0.15);
    }
  }
}

TEST_CASE("a chain covers the norms, rotary embeddings and gates before and after attention") {
  const Graph g = llama_graph({.layers = 1,
                               .hidden = 48,
                               .heads = 6,
                               .kv_heads = 2,
                               .width = 12,
                               .inner = 80,
                               .vocabulary = 30});
  Executor run(g, initial_weights(g, 3));
  run.run(inputs_of(1, 64));
  CHECK(runs_of(run.plan()) ==
        std::vector<std::string>{"embedding", "rms-norm", "linear", "rms-norm", "rotary", "linear",
                                 "rotary", "linear", "attention", "linear + add", "rms-norm",
                                 "linear + silu", "linear", "mul", "linear + add", "rms-norm",
                                 "linear", "store"});
  for (const ExecutionStep& s : run.plan().steps) CHECK(s.layout != "");
}

TEST_CASE("interleaved and partial rotary embeddings and norms by 1 + weight run in a chain") {
  GraphParts parts{{"x", "position_ids"},
                   {{"w", {48, 48}, Spec::parse("normal:std=0.1")},
                    {"f", {3}, Spec::parse("normal:std=1")},
                    {"n", {16}, Spec::parse("normal:std=1")}},
                   {},
                   {"y"}};
  const Attributes rotary = Attributes().set("heads", 3).set("interleaved", 1).set("scale", 1.25);
  parts.nodes = {{"linear", "linear", {"x", "w"}},
                 {"norm", "rms-norm", {"linear", "n"}, Attributes().set("unit_offset", 1)},
                 {"turned", "rotary", {"norm", "position_ids", "f"}, rotary},
                 {"square", "mul", {"turned", "turned"}},
                 {"y", "mul", {"square", "linear"}}};
  const Graph g(std::move(parts));
  const NamedValues<Tensor> w = initial_weights(g, 5);
  Dice dice(2);
  for (const Index tokens : {4, 70}) {
    CAPTURE(tokens);
    Dense at = Dense::zeros(DType::I32, {2, tokens});
    for (Index i = 0; i < at.size(); ++i)
      at.values.mutate<std::int32_t>()[i] = static_cast<std::int32_t>(3 * i);
    const NamedValues<Tensor> in{{"x", normals(dice, {2, tokens, 48})}, {"position_ids", at}};
    Executor run(g, w);
    CHECK(furthest(run.run(in).at("y"), g.run<Tensor>(w, in).at("y")) < 1e-4);
    CHECK(runs_of(run.plan()) ==
          std::vector<std::string>{"load", "linear", "rms-norm", "rotary", "mul", "mul", "store"});
  }
}

TEST_CASE("feature slices of a packed product run in its chain, and all slices match the graph") {
  const auto range = [](Index begin, Index end) {
    return Attributes().set("axis", -1).set("begin", begin).set("end", end);
  };
  GraphParts parts{
      {"x"}, {{"w", {96, 48}, Spec::parse("normal:std=0.1")}}, {}, {"gated", "odd", "last"}};
  parts.nodes = {
      {"both", "linear", {"x", "w"}},
      {"gate", "slice", {"both"}, range(0, 38)},
      {"up", "slice", {"both"}, range(38, 76)},
      {"act", "silu", {"gate"}},
      {"gated", "mul", {"act", "up"}},
      {"odd", "slice", {"both"}, range(81, 96)},
      {"last", "slice", {"both"}, Attributes().set("axis", 1).set("begin", 1).set("end", 2)}};
  const Graph g(std::move(parts));
  const NamedValues<Tensor> w = initial_weights(g, 5);
  Dice dice(2);
  for (const Index tokens : {2, 4, 70}) {
    CAPTURE(tokens);
    const NamedValues<Tensor> in{{"x", normals(dice, {2, tokens, 48})}};
    Executor run(g, w), low(g, w, {.precision = {{"*", Precision::bf16}}});
    const auto wanted = g.run<Tensor>(w, in);
    for (const char* name : {"gated", "odd", "last"}) {
      CAPTURE(name);
      CHECK(furthest(run.run(in).at(name), wanted.at(name)) < 1e-5);
      CHECK(furthest(low.run(in).at(name), wanted.at(name)) < 0.05);
    }
    const std::vector<std::string> steps = runs_of(run.plan());
    const std::vector<std::string> first{"load", "linear", "slice", "slice",
                                         "silu", "mul",    "slice"};
    CHECK(std::vector<std::string>(steps.begin(), steps.begin() + 7) == first);
    CHECK(run.plan().steps[2].layout == "panels");
  }
}
