// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/loss_of_changes.h"

#include <doctest/doctest.h>

#include "libsten/training/task/predictions.h"
#include "tests/support/small_bert.h"
#include "tests/support/tensors.h"

using namespace sten;

TEST_CASE("LossOfChanges with one changed weight matches a full run of the changed model") {
  const Graph g = bert(testing::small_bert(), {.mask = true});
  const NamedValues<Tensor> weights = testing::bert_weights(g, "dense", 8);
  std::vector<BatchPart> parts;
  for (const Index tokens : {6, 9}) {
    BatchPart& part = parts.emplace_back(BatchPart{testing::bert_values(2, tokens, true)});
    part.inputs.insert_or_assign("labels", part.inputs.at("input_ids"));
  }
  const auto whole = [&](const NamedValues<Tensor>& changed) {
    PredictionSums sums;
    for (const BatchPart& part : parts) {
      NamedValues<Tensor> inputs = part.inputs;
      inputs.erase("labels");
      const Tensor logits = g.run(changed, inputs).at(g.outputs().front());
      sums += predictions_of(logits.to_dense(), part.inputs.at("labels").as<Dense>());
    }
    return sums.measured().loss;
  };
  int releases = 0;
  LossOfChanges losses(
      {g, [&](const std::string& name) { return weights.at(name); }, [&] { ++releases; }}, parts,
      "labels");
  CHECK(losses.unchanged() == doctest::Approx(whole(weights)).epsilon(1e-6));
  CHECK(releases > 2);
  // The embeddings are the head's weight, too; the weight of the first layer comes after a later one.
  std::vector<std::pair<std::string, Tensor>> others;
  for (const char* name :
       {"bert.encoder.layer.0.attention.self.value.weight",
        "bert.encoder.layer.1.output.dense.weight", "bert.encoder.layer.0.output.dense.weight",
        "bert.embeddings.word_embeddings.weight", "cls.predictions.transform.dense.weight"})
    others.emplace_back(name, apply("scale", {weights.at(name)}, Attributes().set("by", 0.5)));
  // A change of the head only.
  testing::Dice dice(2);
  others.emplace_back("cls.predictions.bias",
                      testing::normals(dice, weights.at("cls.predictions.bias").shape()));
  for (const auto& each : others) {
    const std::string& name = each.first;
    const Tensor& other = each.second;
    CAPTURE(name);
    NamedValues<Tensor> changed = weights;
    changed.at(name) = other;
    CHECK(losses.with(name, other) == doctest::Approx(whole(changed)).epsilon(1e-6));
    CHECK(whole(changed) != doctest::Approx(whole(weights)).epsilon(1e-6));
  }
}
