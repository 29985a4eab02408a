// SPDX-License-Identifier: Apache-2.0
// Values within segments of a graph are computed again in the backward pass.
#include <doctest/doctest.h>

#include "libsten/model/nn/weights.h"
#include "libsten/training/trainer/memory.h"
#include "libsten/training/trainer/segmented_graph.h"
#include "tests/trainer/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

// The weights after a run, and the losses of its steps.
struct Outcome {
  NamedValues<std::vector<float>> weights;
  std::vector<double> losses;
};

Outcome outcome_of(const Recipe& r) {
  const auto t = trainer_of(r);
  Outcome o;
  while (!t->is_done()) o.losses.push_back(t->step().loss);
  for (const auto& [name, w] : t->weights()) o.weights.emplace(name, floats(w.to_dense()));
  return o;
}

Recipe with_distillation(Recipe r, const TempDir& dir) {
  const Task task(r);
  r.model.weights = dir / "first.safetensors";
  save_weights(task.graph(), task.first_weights(), r.model.weights, true);
  r.distillation.emplace();
  r.distillation->hidden = 1;
  r.sparsity = {sparse("*.layer.*.weight", "nm:n=2,m=4")};
  return r;
}

Recipe with_lora(Recipe r) {
  r.lora.emplace();
  r.lora->target = "transformer.h.1.*.weight";
  return r;
}

}  // namespace

TEST_CASE("activation checkpointing preserves losses and weights up to rounding") {
  const TempDir dirs[4];
  Recipe csr = small_bert(dirs[0]);
  csr.sparsity = {sparse("*.layer.*.weight", "magnitude:sparsity=0.5")};
  csr.sparsity[0].layout = Spec("csr");
  csr.accumulate = 2;
  Recipe dropout = small_gpt(dirs[1]);
  dropout.model.dropout = 0.2;
  dropout.steps = 6;
  for (Recipe r : {csr, small_wide_resnet(dirs[2]), dropout,
                   with_distillation(small_bert(dirs[3]), dirs[3]), with_lora(dropout)}) {
    CAPTURE(r.name);
    const Outcome whole = outcome_of(r);
    r.activation_checkpointing = true;
    const Task task(r);
    CHECK(SegmentedGraph(task.graph(), task.batch(0).front().inputs).segments().size() > 1);
    const Outcome segments = outcome_of(r);
    CHECK(whole.losses.size() == segments.losses.size());
    for (std::size_t i = 0; i < whole.losses.size(); ++i)
      CHECK(segments.losses[i] == doctest::Approx(whole.losses[i]).epsilon(1e-5));
    for (const auto& entry : whole.weights) {
      const std::string& name = entry.first;
      const std::vector<float>& w = entry.second;
      CAPTURE(name);
      const std::vector<float>& other = segments.weights.at(name);
      double furthest = 0;
      for (std::size_t i = 0; i < w.size(); ++i)
        furthest = std::max(furthest, std::abs(double{w[i]} - other[i]));
      CHECK(furthest < 1e-4);
    }
  }
}

TEST_CASE("segments of a GPT end at its residual sums and take less than half the memory") {
  const TempDir dir;
  const Task task(small_gpt(dir));
  const NamedValues<Tensor> inputs = task.batch(0).front().inputs;
  const SegmentedGraph g(task.graph(), inputs);
  std::vector<std::string> ends;
  for (const SegmentedGraph::Segment& s : g.segments())
    if (!s.later.empty()) ends.push_back(s.later.back());
  // Logits of 9 characters are smaller than the values of a layer.
  CHECK(ends == std::vector<std::string>{"transformer.h.0.attn.add", "transformer.h.0.mlp.add",
                                         "transformer.h.1.attn.add", "loss.logits"});
  CHECK(g.stored_bytes() + g.largest_bytes() < value_bytes(task.graph(), inputs).all / 2);
}
