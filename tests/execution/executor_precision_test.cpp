// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "kernels/interleaved.h"
#include "libsten/core/base/name_pattern.h"
#include "libsten/core/base/parallel.h"
#include "libsten/model/execution/executor.h"
#include "tests/support/small_bert.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

const std::vector<PrecisionRule> all_bf16{{"*", Precision::bf16}};

ExecutorOptions in_bf16() {
  ExecutorOptions o;
  o.precision = all_bf16;
  return o;
}

// The largest difference of two outputs, relative to the largest value of the second.
double difference_of(const Tensor& got, const Tensor& wanted) {
  const Dense a = got.to_dense(), b = wanted.to_dense();
  REQUIRE(a.extents == b.extents);
  double most = 0, difference = 0;
  for (Index i = 0; i < a.size(); ++i) {
    const double x = a.values.as<float>()[i], y = b.values.as<float>()[i];
    difference = std::max(difference, std::isfinite(x) ? std::abs(x - y) : INFINITY);
    most = std::max(most, std::abs(y));
  }
  return difference / most;
}

// For each step with a value: "bf16" or "float32".
std::map<std::string, std::string> precisions(const ExecutionPlan& plan) {
  std::map<std::string, std::string> all;
  for (const ExecutionStep& s : plan.steps)
    for (const std::string& node : s.nodes) all.emplace(node, name_of(s.precision));
  return all;
}

// Every value of a weight as BF16.
Tensor rounded(const Tensor& w) {
  const auto from = w.values()->as<float>();
  Values to = Values::uninitialized(DType::BF16, w.values()->size());
  std::ranges::transform(from, to.mutate<std::uint16_t>().begin(), kernels::round_to_bf16);
  return w.with_values(std::move(to));
}

}  // namespace

TEST_CASE("a BERT in bfloat16 matches float32 within the precision of bfloat16") {
  const Graph g = bert(small_bert(), {.mask = true});
  for (const char* layout : {"dense", "csr"}) {
    const NamedValues<Tensor> w = bert_weights(g, layout, 3);
    Executor low(g, w, in_bf16()), high(g, w);
    for (const Shape& tokens :
         {Shape{3, 64}, Shape{3, 40}, Shape{1, 16}, Shape{2, 6}, Shape{1, 1}, Shape{1, 20}}) {
      CAPTURE(std::string(layout));
      CAPTURE(to_string(tokens));
      const NamedValues<Tensor> inputs = bert_values(tokens[0], tokens[1], true);
      const NamedValues<Tensor> wanted = high.run(inputs);
      for (const auto& y : low.run(inputs))
        CHECK(difference_of(y.second, wanted.at(y.first)) < 0.015);
    }
  }
}

TEST_CASE("outputs in bfloat16 are bit-identical on 1, 2 and 3 threads and in repeated runs") {
  const Graph g = bert(small_bert(), {.mask = true});
  const NamedValues<Tensor> w = bert_weights(g, "dense", 3);
  const NamedValues<Tensor> inputs = bert_values(5, 70, true);
  std::optional<NamedValues<Tensor>> first;
  for (const int n : {1, 3, 2}) {
    const Threads some(n);
    Executor run(g, w, in_bf16());
    for (int again = 0; again < 3; ++again) {
      const NamedValues<Tensor> got = run.run(inputs);
      if (!first) first = got;
      for (const auto& y : got)
        CHECK(same_bits(y.second.to_dense(), first->at(y.first).to_dense()));
    }
  }
}

TEST_CASE("an execution plan reports which nodes ran in bfloat16 and which in float32") {
  const Graph g = bert(small_bert(), {.mask = true});
  const NamedValues<Tensor> w = bert_weights(g, "dense", 3);
  const NamedValues<Tensor> inputs = bert_values(2, 64, true);
  Executor all(g, w, in_bf16());
  all.run(inputs);
  for (const Node& n : g.nodes()) {
    CAPTURE(n.name);
    const auto ran = precisions(all.plan());
    if (n.op.text() == "linear" || n.op.text() == "attention") CHECK(ran.at(n.name) == "bf16");
  }
  // A later layer adds to the result of the first norm; only a linear layer reads the second.
  CHECK(precisions(all.plan()).at("bert.encoder.layer.0.output.LayerNorm") == "float32");
  CHECK(precisions(all.plan()).at("cls.predictions.transform.LayerNorm") == "bf16");
  std::string attention;
  for (const Node& n : g.nodes())
    if (n.op.text() == "attention" && attention.empty()) attention = n.name;
  const std::string linear =
      g.nodes()[std::ranges::find(g.nodes(), "linear", [](const Node& n) { return n.op.text(); }) -
                g.nodes().begin()]
          .name;
  ExecutorOptions some = in_bf16();
  some.precision.insert(some.precision.begin(),
                        {{attention, Precision::float32}, {linear, Precision::float32}});
  Executor mixed(g, w, some);
  Executor high(g, w);
  const NamedValues<Tensor> got = mixed.run(inputs), wanted = high.run(inputs);
  const auto ran = precisions(mixed.plan());
  CHECK(ran.at(attention) == "float32");
  CHECK(ran.at(linear) == "float32");
  CHECK(std::ranges::count(ran, "bf16", &std::pair<const std::string, std::string>::second) > 5);
  for (const auto& y : got) CHECK(difference_of(y.second, wanted.at(y.first)) < 0.03);
}

TEST_CASE("BF16 weights and equal F32 weights give bit-identical outputs in either precision") {
  const Graph g = bert(small_bert(), {.mask = true});
  NamedValues<Tensor> low, wide;
  for (const auto& [name, w] : bert_weights(g, "dense", 3)) {
    low.emplace(name, rounded(w));
    Values back = Values::uninitialized(DType::F32, w.values()->size());
    std::ranges::transform(low.at(name).values()->as<std::uint16_t>(), back.mutate<float>().begin(),
                           kernels::widen_bf16);
    wide.emplace(name, w.with_values(std::move(back)));
  }
  for (const Shape& tokens : {Shape{2, 40}, Shape{1, 1}, Shape{1, 7}}) {
    CAPTURE(to_string(tokens));
    const NamedValues<Tensor> inputs = bert_values(tokens[0], tokens[1], true);
    for (const ExecutorOptions& o : {ExecutorOptions{}, in_bf16()}) {
      Executor a(g, low, o), b(g, wide, o);
      const NamedValues<Tensor> got = a.run(inputs), wanted = b.run(inputs);
      for (const auto& y : got)
        CHECK(same_bits(y.second.to_dense(), wanted.at(y.first).to_dense()));
    }
  }
}

TEST_CASE("outputs stay accurate when precision rules switch between bfloat16 and float32") {
  // An activation that a rule keeps in float32 between two products; sums of both.
  const Graph g({{"x"},
                 {{"a", {48, 40}, Spec::parse("normal:std=0.2")},
                  {"b", {40, 48}, Spec::parse("normal:std=0.2")}},
                 {{"up", "linear", {"x", "a"}},
                  {"act", "tanh", {"up"}},
                  {"down", "linear", {"act", "b"}},
                  {"sum", "add", {"down", "x"}},
                  {"up2", "linear", {"sum", "a"}}},
                 {"sum", "up2"}});
  const NamedValues<Tensor> w = initial_weights(g, 1);
  for (const Index rows : {1, 5, 16, 17, 64, 130}) {
    CAPTURE(rows);
    Dice dice(3);
    const NamedValues<Tensor> inputs{{"x", normals(dice, {rows, 40})}};
    Executor high(g, w);
    const NamedValues<Tensor> wanted = high.run(inputs);
    for (const char* kept : {"none", "up", "act", "down", "sum", "up2", "{up,down}", "{act,sum}"}) {
      CAPTURE(std::string(kept));
      ExecutorOptions o;
      for (const std::string& name : pattern_list(kept))
        o.precision.push_back({name, Precision::float32});
      o.precision.push_back({"*", Precision::bf16});
      Executor run(g, w, o);
      for (int again = 0; again < 2; ++again)
        for (const auto& y : run.run(inputs))
          CHECK(difference_of(y.second, wanted.at(y.first)) < 0.02);
    }
  }
}
