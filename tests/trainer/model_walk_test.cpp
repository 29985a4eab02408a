#include "libsten/training/trainer/model_walk.h"

#include <doctest/doctest.h>

#include "libsten/compute/calibrate/sums.h"
#include "tests/support/small_bert.h"

using namespace sten;

TEST_CASE("each layer sees what the pruned layers before it make, and what the dense ones did") {
  const Graph g = bert(testing::small_bert(), {.mask = true});
  const NamedValues<Tensor> weights = testing::bert_weights(g, "dense", 8);
  const std::vector<NamedValues<Tensor>> batches = {testing::bert_values(2, 6, true),
                                                    testing::bert_values(2, 9, true)};
  const std::string last = "bert.encoder.layer.1.output.dense.weight";
  NamedValues<Tensor> pruned = weights;
  std::vector<std::string> order;
  InputStatistics of_last;
  const WalkResult result = prune_along(
      g, weights, batches,
      [](const std::string& name) { return name.starts_with("bert.encoder.layer."); }, true,
      [&](const std::string& name, const InputStatistics& inputs) {
        order.push_back(name);
        // q, k and v share one input.
        if (name.ends_with("layer.0.attention.self.key.weight")) CHECK_FALSE(inputs.has_cross());
        if (name.ends_with("layer.1.attention.self.key.weight")) CHECK(inputs.has_cross());
        if (name == last) of_last = inputs;
        CalibratedOptions half;
        half.structure = Spec::parse("magnitude:sparsity=0.5");
        return pruned.at(name) = prune_layer(weights.at(name).to_dense(), inputs, half).weights;
      });
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
