// SPDX-License-Identifier: Apache-2.0
// Low-rank adapters: training, gradients and the merged model.
#include <doctest/doctest.h>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/core/registry/registry.h"
#include "libsten/model/nn/weights.h"
#include "libsten/training/task/lora.h"
#include "tests/trainer/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

constexpr const char* adapted = "layers.1.weight";

Recipe with_adapters(Recipe r) {
  r.lora.emplace();
  r.lora->target = "layers.*.weight";
  r.lora->rank = 2;
  r.steps = 40;
  return r;
}

Tensor half_of(const Dense& x, const char* layout) {
  return registry().prune(x, Spec::parse("magnitude:sparsity=0.5"), Spec::parse(layout));
}

}  // namespace

TEST_CASE("LoRA adapters keep the pruned elements of a weight at 0") {
  Dice dice(1);
  const Dense x = normals(dice, {6, 8}), a = normals(dice, {2, 8}), b = normals(dice, {6, 2});
  const std::vector<float> product = floats(apply("matmul", {b, a}).to_dense());
  for (const char* layout : {"masked", "csr"}) {
    const Tensor w = half_of(x, layout);
    const Mask kept = w.stored();
    const std::vector<float> before = floats(w.to_dense()),
                             y = floats(apply("lora", {w, a, b}, Attributes().set("scale", 3.0))
                                            .to_dense());
    for (Index i = 0; i < 48; ++i)
      CHECK(y[i] == doctest::Approx(kept[i] ? before[i] + 3 * product[i] : 0).epsilon(1e-5));
    LoraRecipe r;
    r.rank = 2;
    r.alpha = 6;
    const Tensor sum = merged(w, a, b, r);
    CHECK(sum.spec() == w.spec());
    CHECK(same_mask(sum.stored(), kept));
    CHECK(floats(sum.to_dense()) == y);
  }
}

TEST_CASE("gradients of LoRA adapters exclude pruned elements") {
  Dice dice(1);
  const Dense x = normals(dice, {6, 8}), a = normals(dice, {2, 8}), b = normals(dice, {6, 2}),
              dy = normals(dice, {6, 8});
  const Tensor w = half_of(x, "masked");
  Tape tape;
  const Var va = tape.parameter(a), vb = tape.parameter(b);
  tape.backward(apply("lora", {Var(w), va, vb}, Attributes().set("scale", 0.5)), dy);
  const Dense kept = registry().pack(dy, w.stored(), Spec("masked")).to_dense();
  const auto half = [](const Tensor& t) {
    return apply("scale", {t}, Attributes().set("by", 0.5));
  };
  const auto same = [](const Tensor& p, const Tensor& q) {
    const std::vector<float> x = floats(p.to_dense()), y = floats(q.to_dense());
    REQUIRE(x.size() == y.size());
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(x[i] == doctest::Approx(y[i]).epsilon(1e-5));
  };
  same(*va.grad(), half(apply("matmul", {apply("transpose", {b}), kept})));
  same(*vb.grad(), half(apply("matmul", {kept, apply("transpose", {a})})));
}

TEST_CASE("LoRA trains only the adapters, and merging preserves the mask") {
  const TempDir dir;
  Recipe r = with_adapters(small_mlp(dir));
  r.sparsity = {sparse("layers.*.weight", "magnitude:sparsity=0.5")};
  const auto t = trainer_of(r);
  const NamedValues<Tensor> first = t->task().first_weights();
  const double before = t->step().loss;
  const Mask kept = mask_in(*t, adapted);
  double last = 0;
  while (!t->is_done()) last = t->step().loss;
  CHECK(last < 0.7 * before);
  const NamedValues<Tensor> model = t->weights();
  CHECK(model.size() == t->task().model().weights().size());
  for (const auto& entry : model) {
    const std::string& name = entry.first;
    const Tensor& w = entry.second;
    CAPTURE(name);
    const bool is_adapted = name.ends_with(".weight");
    // The base weight is that of the beginning, without pruned elements.
    const std::vector<float> start = floats(first.at(name).to_dense()),
                             base = floats(parameter(*t, name).value.to_dense());
    for (std::size_t i = 0; i < start.size(); ++i) CHECK((base[i] == start[i] || base[i] == 0));
    CHECK((floats(w.to_dense()) != base) == is_adapted);
    if (!is_adapted) CHECK(floats(w.to_dense()) == start);
  }
  CHECK(same_mask(mask_in(*t, adapted), kept));
  CHECK(same_mask(model.at(adapted).stored(), kept));
  CHECK(kept.count() == 512);
  // The model that is measured is the model that was trained.
  const BatchPart part = t->task().data().part(DataSplit::validation, 0);
  NamedValues<Tensor> weights;
  for (const Parameter& p : t->state().parameters) weights.emplace(p.name, p.value);
  const auto loss = [&](const Graph& g, const NamedValues<Tensor>& w) {
    return floats(g.run<Tensor>(w, part.inputs).at(g.outputs().back()).to_dense())[0];
  };
  CHECK(loss(t->task().evaluation_graph(), model) ==
        doctest::Approx(loss(t->task().graph(), weights)).epsilon(1e-5));
}

TEST_CASE("LoRA keeps the zeros of a pruned model without a sparsity entry in the recipe") {
  const TempDir dir;
  Recipe r = with_adapters(small_mlp(dir));
  const Task task(r);
  NamedValues<Tensor> weights = task.first_weights();
  weights.at(adapted) = half_of(weights.at(adapted).as<Dense>(), "dense");
  r.model.weights = dir / "pruned.safetensors";
  save_weights(task.model(), weights, r.model.weights, true);
  const auto t = trainer_of(r);
  for (int i = 0; i < 5; ++i) t->step();
  const std::vector<float> before = floats(weights.at(adapted).to_dense()),
                           after = floats(t->weights().at(adapted).to_dense());
  CHECK(before != after);
  for (std::size_t i = 0; i < before.size(); ++i) CHECK((before[i] == 0) == (after[i] == 0));
}

TEST_CASE("LoRA adapters and formats of intermediates combine in training and evaluation") {
  const TempDir dir;
  Recipe r = with_adapters(small_mlp(dir));
  r.steps = 3;
  FormatRecipe f;
  f.of = "intermediate";
  f.target = "layers.*.relu";
  f.inline_by = Spec("relu");
  f.temporary = f.layout = Spec("csr");
  f.end = r.steps;
  r.formats = {f};
  const auto t = trainer_of(r);
  while (!t->is_done()) t->step();
  const Measured sparse = t->task().measure(t->weights(), DataSplit::validation);
  CHECK(sparse.count > 0);
  const Graph measured = t->task().measured_graph();
  const Node* relu = measured.find_node("layers.1.relu");
  REQUIRE(relu);
  CHECK(relu->formats.out.layout.str() == "csr");
  r.formats.clear();
  CHECK(sparse.loss ==
        doctest::Approx(Task(r).measure(t->weights(), DataSplit::validation).loss).epsilon(1e-5));
}

TEST_CASE("LoRA settings that do not fit the model are rejected with the key") {
  const TempDir dir;
  const auto error = [&](const char* target, Index rank) {
    Recipe r = with_adapters(small_mlp(dir));
    r.lora->target = target;
    r.lora->rank = rank;
    return error_of([&] { const Task task(r); });
  };
  CHECK(error("layers.*.weight", 4).empty());
  CHECK(error("layers.*.weight", 5) ==
        "/lora/rank: expected at most 4, the smaller extent of 'layers.2.weight', got 5");
  CHECK(error("layer.*.weight", 2).starts_with("/lora/target: 'layer.*.weight' matches none of"));
}
