// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/model_walk.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <sstream>

#include "libsten/compute/calibrate/sums.h"
#include "libsten/model/nn/causal_model.h"
#include "libsten/model/nn/gpt.h"
#include "libsten/model/nn/weights.h"
#include "tests/support/small_bert.h"

using namespace sten;

namespace {

std::string decoder_path(const std::string& type) {
  return STEN_SOURCE_DIR "/tests/nn/decoders/" + type + "/";
}
Checkpoint decoder_file(const std::string& type) {
  return Checkpoint::open(decoder_path(type) + "model.safetensors");
}
CausalModel small_decoder(const std::string& type) {
  std::stringstream config;
  config << std::ifstream(decoder_path(type) + "config.json").rdbuf();
  return causal_model(config.str(), type, {});
}

}  // namespace

TEST_CASE("a layer's statistics match its inputs in the pruned and in the dense model") {
  bool is_stored = false;
  SUBCASE("activations stored before each layer") { is_stored = true; }
  SUBCASE("activations recomputed for each layer") {}
  const Index most_stored_bytes = is_stored ? Index{1} << 20 : 0;
  const Graph g = bert(testing::small_bert(), {.mask = true});
  const NamedValues<Tensor> weights = testing::bert_weights(g, "dense", 8);
  const std::vector<NamedValues<Tensor>> batches = {testing::bert_values(2, 6, true),
                                                    testing::bert_values(2, 9, true)};
  const std::string last = "bert.encoder.layer.1.output.dense.weight";
  NamedValues<Tensor> pruned = weights;
  std::vector<std::string> order;
  InputStatistics of_last;
  ActivationsInMemory store(batches.size());
  const WalkResult result = prune_along(
      {g, batches, store, [&](const std::string& name) { return weights.at(name); },
       [](const std::string& name) { return name.starts_with("bert.encoder.layer."); }, true, true,
       [&](const std::string& name, const InputStatistics& inputs) {
         order.push_back(name);
         // q, k and v share one input.
         if (name.ends_with("layer.0.attention.self.key.weight")) CHECK_FALSE(inputs.has_cross());
         if (name.ends_with("layer.1.attention.self.key.weight")) CHECK(inputs.has_cross());
         if (name == last) of_last = inputs;
         CalibratedOptions half;
         half.structure = Spec::parse("magnitude:sparsity=0.5");
         return pruned.at(name) = prune_layer(weights.at(name).to_dense(), inputs, half).weights;
       },
       [] {}, most_stored_bytes});
  CHECK(order.size() == 12);
  CHECK(order.back() == last);
  CHECK(result.positions == 2 * 6 + 2 * 9);
  // The input of the last layer, when the whole graph runs.
  GraphParts parts = g.parts();
  const std::string before = g.find_node("bert.encoder.layer.1.output.dense")->inputs[0];
  parts.outputs = {before};
  const Graph up_to(std::move(parts));
  InputSums sums(true, true);
  for (const NamedValues<Tensor>& batch : batches)
    sums.add(up_to.run(pruned, batch).at(before).to_dense(),
             up_to.run(weights, batch).at(before).to_dense());
  const InputStatistics wanted = sums.statistics();
  CHECK(of_last.samples == wanted.samples);
  for (const auto part : {&InputStatistics::gram, &InputStatistics::cross}) {
    const auto a = (of_last.*part).values.as<float>(), b = (wanted.*part).values.as<float>();
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(a[i] == doctest::Approx(b[i]).epsilon(1e-4));
  }
  CHECK(of_last.target_squares.value() > 0);
}

namespace {

// Whether expert e is among the two with the largest logits; of equal ones, the first.
bool is_routed(std::span<const float> logits, Index e) {
  Index before = 0;
  for (Index i = 0; i < std::ssize(logits); ++i)
    before += logits[i] > logits[e] || (logits[i] == logits[e] && i < e);
  return before < 2;
}

double product(std::span<const float> row, const Tensor& w, Index out) {
  const Dense& dense = w.as<Dense>();
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i)
    sum += static_cast<double>(row[i]) * dense.values.as<float>()[out * row.size() + i];
  return sum;
}

}  // namespace

TEST_CASE("a model walk resumed at a stored point prunes the remaining layers bit-identically") {
  struct Store final : ActivationStore {
    struct Point {
      WalkPoint at;
      std::map<WalkedModel, BatchActivations> activations;
    };
    Point now;
    std::map<WalkedModel, BatchActivations> next;
    std::vector<Point> points;

    WalkPoint begin() const override { return now.at; }
    BatchActivations load(WalkedModel model, std::size_t) const override {
      const auto at = now.activations.find(model);
      return at == now.activations.end() ? BatchActivations() : at->second;
    }
    void store(WalkedModel model, std::size_t, BatchActivations a) override {
      next[model] = std::move(a);
    }
    void advance(const std::optional<WalkPoint>& resumed) override {
      const std::map<WalkedModel, BatchActivations> before = now.activations;
      for (auto& [model, a] : std::exchange(next, {})) now.activations[model] = std::move(a);
      if (!resumed) return;
      points.push_back({*resumed, now.activations});
      points.back().activations.erase(WalkedModel::dense);
      if (const auto at = before.find(WalkedModel::dense); at != before.end())
        points.back().activations.insert(*at);
    }
    void begin_dense() override {
      now.activations[WalkedModel::dense] = load(WalkedModel::pruned, 0);
    }
  };
  std::string type = "llama";
  bool needs_targets = false;
  Index most_bytes = most_stored_bytes;
  SUBCASE("activations of the pruned model") {}
  SUBCASE("activations of the pruned and the dense model") { needs_targets = true; }
  SUBCASE("activations over the memory limit") {
    needs_targets = true;
    most_bytes = 0;
  }
  SUBCASE("mixture of experts") {
    type = "mixtral";
    needs_targets = true;
  }
  const CausalModel model = small_decoder(type);
  const NamedValues<Tensor> weights = load_weights(model.graph, decoder_file(type), model.unused);
  const Checkpoint cases = Checkpoint::open(decoder_path(type) + "cases.safetensors");
  const std::vector<NamedValues<Tensor>> batches = {
      gpt_inputs(cases.load(*cases.find("long.input_ids")))};
  std::vector<std::string> order;
  NamedValues<Tensor> pruned;
  const auto walk = [&](Store& store) {
    order.clear();
    pruned.clear();
    prune_along({model.graph, batches, store,
                 [&](const std::string& name) { return weights.at(name); },
                 [](const std::string& name) {
                   return name.starts_with("model.layers.") && name.find("norm") == name.npos;
                 },
                 true, needs_targets,
                 [&](const std::string& name, const InputStatistics& inputs) {
                   order.push_back(name);
                   CalibratedOptions half;
                   half.method = "sparsegpt";
                   half.structure = Spec::parse("magnitude:sparsity=0.5");
                   const Tensor w = prune_layer(weights.at(name).to_dense(), inputs, half).weights;
                   pruned.emplace(name, w);
                   return w;
                 },
                 [] {}, most_bytes});
  };
  Store whole;
  walk(whole);
  const std::vector<std::string> whole_order = order;
  const NamedValues<Tensor> whole_pruned = pruned;
  REQUIRE(whole.points.size() > (most_bytes == 0 ? 1 : 3));
  for (std::size_t i = 0; i < whole.points.size(); ++i) {
    Store rest;
    rest.now = whole.points[i];
    walk(rest);
    CHECK(std::ranges::equal(order, std::span(whole_order).last(order.size())));
    for (const auto& [name, w] : pruned)
      CHECK(std::ranges::equal(w.to_dense().values.bytes(),
                               whole_pruned.at(name).to_dense().values.bytes()));
    using Nodes = std::vector<std::pair<std::size_t, std::optional<std::size_t>>>;
    Nodes nodes, wanted;
    for (const Store::Point& p : rest.points) nodes.emplace_back(p.at.node, p.at.dense_node);
    for (const Store::Point& p : std::span(whole.points).subspan(i + 1))
      wanted.emplace_back(p.at.node, p.at.dense_node);
    CHECK(nodes == wanted);
  }
}

TEST_CASE("experts are calibrated on the tokens that the pruned model routes to them") {
  const CausalModel model = small_decoder("mixtral");
  const Checkpoint cases = Checkpoint::open(decoder_path("mixtral") + "cases.safetensors");
  const NamedValues<Tensor> weights =
      load_weights(model.graph, decoder_file("mixtral"), model.unused);
  const std::vector<NamedValues<Tensor>> batches = {
      gpt_inputs(cases.load(*cases.find("long.input_ids")))};
  const std::string experts = "model.layers.1.block_sparse_moe.experts";
  const std::string of = experts + ".2.";
  ActivationsInMemory store(batches.size());
  NamedValues<Tensor> pruned = weights;
  InputStatistics of_gate, of_down;
  prune_along(
      {model.graph, batches, store, [&](const std::string& name) { return weights.at(name); },
       [](const std::string& name) {
         return name.starts_with("model.layers.") && name.find("norm") == name.npos;
       },
       true, true,
       [&](const std::string& name, const InputStatistics& inputs) {
         if (name == of + "w1.weight") of_gate = inputs;
         if (name == of + "w2.weight") of_down = inputs;
         CalibratedOptions half;
         half.structure = Spec::parse("magnitude:sparsity=0.5");
         return pruned.at(name) = prune_layer(weights.at(name).to_dense(), inputs, half).weights;
       }});
  GraphParts parts = model.graph.parts();
  const Node& node = *model.graph.find_node(experts);
  parts.outputs = {node.inputs[0], node.inputs[1]};
  const auto values = Graph(std::move(parts)).run(pruned, batches[0]);
  const Dense x = values.at(node.inputs[0]).to_dense(),
              logits = values.at(node.inputs[1]).to_dense();
  const Index count = logits.extents.back(), width = x.extents.back();
  Index tokens = 0;
  double squares = 0, hidden_squares = 0;
  for (Index t = 0; t < x.size() / width; ++t) {
    const auto of_token = logits.values.as<float>().subspan(t * count, count);
    if (!is_routed(of_token, 2)) continue;
    ++tokens;
    const auto row = x.values.as<float>().subspan(t * width, width);
    squares += static_cast<double>(row[3]) * row[3];
    const double gate = product(row, pruned.at(of + "w1.weight"), 5);
    const double hidden =
        gate / (1 + std::exp(-gate)) * product(row, pruned.at(of + "w3.weight"), 5);
    hidden_squares += hidden * hidden;
  }
  REQUIRE(tokens > 0);
  CHECK(of_gate.samples == tokens);
  const auto square = [](const InputStatistics& s, Index i) {
    return s.gram.values.as<float>()[i * s.gram.extents[0] + i];
  };
  CHECK(square(of_gate, 3) == doctest::Approx(squares).epsilon(1e-4));
  CHECK(of_gate.has_cross());
  CHECK(of_down.samples == tokens);
  CHECK(square(of_down, 5) == doctest::Approx(hidden_squares).epsilon(1e-4));
  CHECK(of_down.has_cross());
}
