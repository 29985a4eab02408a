// SPDX-License-Identifier: Apache-2.0
// Methods that recover accuracy: distillation, weight averaging, and masks that follow gradients.
#include <doctest/doctest.h>

#include <cmath>

#include "libsten/core/registry/registry.h"
#include "libsten/core/sparsify/regrow.h"
#include "libsten/model/nn/weights.h"
#include "tests/trainer/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

constexpr const char* weight = "layers.1.weight";

// A recipe that starts from the weights of a file.
Recipe from_file(const TempDir& dir, Recipe r) {
  const Task task(r);
  r.model.weights = dir / (r.name + ".safetensors");
  save_weights(task.graph(), task.first_weights(), r.model.weights, true);
  return r;
}
std::vector<float> values_of(const Tensor& t) { return floats(t.to_dense()); }
std::vector<float> values_in(const Trainer& t) { return values_of(parameter(t, weight).value); }
std::vector<float> measured_in(const Trainer& t) { return values_of(t.weights().at(weight)); }

}  // namespace

TEST_CASE(
    "distillation loss is 0 for a copy of the teacher, and training a pruned model lowers it") {
  for (const auto make : {small_bert, small_gpt, small_mlp}) {
    const TempDir dir;
    const Recipe small = make(dir);
    CAPTURE(small.name);
    Recipe r = from_file(dir, small);
    const bool is_mlp = r.model.kind == "mlp";
    r.distillation.emplace();
    r.distillation->logits = 1;
    r.distillation->temperature = 3;
    if (!is_mlp) r.distillation->hidden = 2;
    CHECK(trainer_of(r)->step().loss == doctest::Approx(0).epsilon(1e-6));
    // The rest of the loss comes from the labels.
    r.distillation->logits = 0.25;
    const double labels = trainer_of(from_file(dir, small))->step().loss;
    CHECK(trainer_of(r)->step().loss == doctest::Approx(0.75 * labels).epsilon(1e-5));
    // A pruned model differs from the teacher, and training reduces the difference.
    r.distillation->logits = 1;
    r.steps = 30;
    r.sparsity = {
        sparse(is_mlp ? "layers.*.weight" : "*.layer.*.weight", "magnitude:sparsity=0.7")};
    if (r.model.kind == "gpt") r.sparsity[0].target = "*.h.*.weight";
    const auto t = trainer_of(r);
    const double first = t->step().loss;
    CHECK(first > 1e-3);
    double last = 0;
    while (!t->is_done()) last = t->step().loss;
    CHECK(last < 0.7 * first);
  }
}

TEST_CASE(
    "calibrated pruning has a lower loss than magnitude for each model, structure and layout") {
  for (const auto make : {small_bert, small_gpt, small_mlp}) {
    const TempDir dir;
    // After 30 steps of the dense model.
    Recipe r = make(dir);
    r.steps = 40;
    const auto dense = trainer_of(r);
    for (int i = 0; i < 30; ++i) dense->step();
    r.model.weights = dir / "dense.safetensors";
    save_weights(dense->task().graph(), dense->weights(), r.model.weights, true);
    r.optimizer.rate = 1e-9;  // the step that prunes moves nothing
    const bool is_mlp = r.model.kind == "mlp";
    const char* target = is_mlp                   ? "layers.*.weight"
                         : r.model.kind == "bert" ? "bert.encoder.*.weight"
                                                  : "transformer.h.*.weight";
    for (const char* by : {"magnitude:sparsity=0.8", "nm:n=1,m=4", "nmg:n=1,m=4,g=2"})
      for (const char* layout : {"masked", "csr"}) {
        CAPTURE(r.name);
        CAPTURE(by);
        const auto trained = [&](bool is_calibrated) {
          r.sparsity = {sparse(target, by)};
          r.sparsity[0].layout = Spec(layout);
          if (is_calibrated)
            r.sparsity[0].calibration = {{.method = "admm", .rows = 64, .scope = "local"}};
          auto t = trainer_of(r);
          t->step();
          return t;
        };
        const auto loss = [&](const Trainer& t) {
          return t.task().measure(t.weights(), DataSplit::train).loss;
        };
        const auto magnitude = trained(false), calibrated = trained(true);
        CHECK(calibrated->sparsity() == magnitude->sparsity());
        CHECK(loss(*calibrated) < loss(*magnitude));
      }
  }
}

TEST_CASE("calibrated stages reach their sparsity, and pruning restarts the EMA of weights") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.ema = 0.9;
  r.sparsity = {sparse("layers.1.weight", "nmg:n=1,m=4,g=2")};
  r.sparsity[0].schedule.kind = "iterative";
  r.sparsity[0].schedule.sparsifiers = {Spec::parse("nmg:n=2,m=4,g=2"),
                                        Spec::parse("nmg:n=1,m=4,g=2")};
  r.sparsity[0].schedule.begin = 4;
  r.sparsity[0].schedule.end = 12;
  r.sparsity[0].calibration = {{.method = "sparsegpt", .rows = 64, .scope = "local"}};
  const auto t = trainer_of(r);
  for (int i = 0; i < 5; ++i) t->step();
  CHECK(t->sparsity() == 0.5);
  CHECK(measured_in(*t) == values_in(*t));
  while (!t->is_done()) t->step();
  CHECK(t->sparsity() == 0.75);
  CHECK(measured_in(*t) != values_in(*t));
}

TEST_CASE("calibration collects its rows across the end of an epoch") {
  const TempDir dir;
  Recipe r = small_mlp(dir);  // 67 rows: the fifth batch has 3 of them
  r.sparsity = {sparse("layers.1.weight", "magnitude:sparsity=0.8")};
  r.sparsity[0].schedule.begin = 4;
  const auto calibrated_on = [&](Index rows) {
    r.sparsity[0].calibration = {{.method = "admm", .rows = rows, .scope = "local"}};
    const auto t = trainer_of(r);
    for (int i = 0; i < 5; ++i) t->step();
    return values_in(*t);
  };
  const auto wanted = calibrated_on(16);  // 3, and 16 of the next epoch
  CHECK(wanted == calibrated_on(19));
  CHECK(wanted != calibrated_on(3));
}

TEST_CASE("calibration rejects weights of convolutions") {
  const TempDir dir;
  Recipe r = small_wide_resnet(dir);
  r.sparsity = {sparse("block1.*.weight", "magnitude:sparsity=0.5")};
  r.sparsity[0].calibration = {{.method = "admm"}};
  CHECK(
      error_of([&] { trainer_of(r); }) ==
      "/sparsity/0/calibration: 'block1.layer.0.conv1.weight' is not the weight of a linear layer");
}

TEST_CASE("distillation rejects a missing teacher and states that match no value of the model") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.distillation.emplace();
  CHECK(error_of([&] { trainer_of(r); }) ==
        "/distillation: missing teacher (the model starts with random weights)");
  r.distillation->teacher = from_file(dir, small_mlp(dir)).model.weights;
  r.seed = 1;  // another beginning
  CHECK(trainer_of(r)->step().loss > 0.1);
  r.distillation->hidden = 1;
  r.distillation->states = "layers.*.gelu";
  CHECK(error_of([&] { trainer_of(r); }) ==
        "/distillation/states: 'layers.*.gelu' matches no value of the model");
  r.distillation->states = "layers.2";  // the logits, which are compared already
  CHECK(trainer_of(r)->step().loss > 0.1);
}

TEST_CASE("distillation of hidden states ignores padding tokens") {
  const TempDir dir;
  // Rows of 1 to 5 tokens beside those that the tokenizer adds.
  const std::string rows = "text,label\na,0\nabcde,1\nab,0\nabcd,1\n";
  Recipe r = small_bert(dir);
  r.data.kind = "labelled-text";
  r.data.file = dir.write("rows.csv", rows);
  r.data.text_column = "text";
  r.data.label_column = "label";
  r.data.train = 1;
  r.data.validation = 0;
  r.batch = 4;
  Recipe other = r;
  other.seed = 1;
  r.distillation.emplace();
  r.distillation->teacher = from_file(dir, other).model.weights;
  r.distillation->logits = 0;
  r.distillation->hidden = 1;
  const auto t = trainer_of(r);
  const BatchPart part = t->task().batch(0).front();
  GraphParts g = t->task().graph().parts();
  const std::string layer = "bert.encoder.layer.";
  g.outputs = {layer + "0.output.LayerNorm", layer + "1.output.LayerNorm", "loss"};
  const Graph graph(std::move(g));
  const NamedValues<Tensor> own = graph.run<Tensor>(t->weights(), part.inputs),
                            told = graph.run<Tensor>(t->task().teacher_weights(), part.inputs);
  const Dense mask = part.inputs.at("attention_mask").to_dense();
  double apart = 0;
  Index count = 0;
  for (int i = 0; i < 2; ++i) {
    const std::string& state = graph.outputs()[static_cast<std::size_t>(i)];
    const std::vector<float> x = floats(own.at(state).to_dense()),
                             y = floats(told.at(state).to_dense());
    REQUIRE(std::ssize(x) == 16 * mask.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (mask.values.as<std::int64_t>()[k / 16] == 0) continue;
      apart += std::pow(double{x[k]} - y[k], 2);
      ++count;
    }
  }
  CHECK(count < 2 * 16 * mask.size());
  const double labels = floats(own.at("loss").to_dense())[0];
  CHECK(t->step().loss ==
        doctest::Approx(labels + apart / static_cast<double>(count)).epsilon(1e-5));
}

TEST_CASE("EMA weights are measured and saved, and do not change the trained weights") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.sparsity = {sparse("layers.*.weight", "magnitude:sparsity=0.5")};
  const auto plain = trainer_of(r);
  r.ema = 0.4;
  const auto t = trainer_of(r);
  std::vector<float> mean;
  for (int step = 0; step < 8; ++step) {
    plain->step();
    t->step();
    const auto now = values_in(*plain);
    REQUIRE(values_in(*t) == now);
    if (mean.empty()) mean = now;
    const double by = step == 0 ? 0 : 1 - std::min(0.4, (1.0 + step) / (10.0 + step));
    for (std::size_t i = 0; i < now.size(); ++i)
      mean[i] += static_cast<float>(by) * (now[i] - mean[i]);
  }
  CHECK(measured_in(*t) == mean);
  CHECK(t->sparsity() == plain->sparsity());
  CHECK(t->weights().at(weight).stored().count() == 512);
}

TEST_CASE("straight-through trains and decays pruned weights, and can change the mask") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.optimizer = {.kind = "sgd", .rate = 0.5, .weight_decay = 0};
  r.sparsity = {sparse("layers.*.weight", "nm:n=2,m=4")};
  r.sparsity[0].mask = {.kind = "straight-through", .decay = 0};
  const auto begin = trainer_of(r), free = trainer_of(r);
  const auto before = values_in(*begin);
  r.sparsity[0].mask.decay = 0.125;
  const auto pulled = trainer_of(r);
  free->step();
  pulled->step();
  CHECK(free->sparsity() == 0.5);
  const auto at = values_in(*free), less = values_in(*pulled);
  const Mask kept = registry()
                        .prune(parameter(*begin, weight).value.as<Dense>(),
                               Spec::parse("nm:n=2,m=4"), Spec("masked"))
                        .stored();
  Index moved = 0;
  for (Index i = 0; i < kept.size(); ++i) {
    CAPTURE(i);
    const auto k = static_cast<std::size_t>(i);
    moved += !kept[i] && at[k] != before[k];
    CHECK(less[k] ==
          doctest::Approx(at[k] - (kept[i] ? 0 : 0.5 * 0.125 * before[k])).epsilon(1e-5));
  }
  CHECK(moved > 200);
  // The result is sparse, and can have positions that were not selected at first.
  const Mask first = free->weights().at(weight).stored();
  while (!free->is_done()) free->step();
  const Mask last = free->weights().at(weight).stored();
  CHECK(last.count() == 512);
  Index came = 0;
  for (Index i = 0; i < last.size(); ++i) came += last[i] && !first[i];
  CHECK(came > 0);
}

TEST_CASE("regrow replaces the smallest weights with positions of the largest gradients") {
  const Dense x = f32({8}, {5, -1, 3, 2, 0, 0, 0, 0});
  const Dense g = f32({8}, {9, 9, 9, 0.5, 0.25, -4, 3, 0});
  const Mask had = mask_of({8}, {1, 1, 1, 1, 0, 0, 0, 0});
  const auto after = [&](double fraction) {
    const Mask m = Regrow{fraction}.select(x, {&had, &g, nullptr});
    std::string text;
    for (Index i = 0; i < 8; ++i) text += m[i] ? 'x' : '.';
    return text;
  };
  CHECK(after(0) == "xxxx....");
  // -1 goes and comes back.
  CHECK(after(0.25) == "xxxx....");
  CHECK(after(0.5) == "xxx..x..");
  CHECK(after(1) == "xxx..x..");
}

TEST_CASE(
    "regrow preserves the sparsity, exchanges fewer weights over time, and grows them from 0") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.sparsity = {sparse("layers.1.weight", "magnitude:sparsity=0.75")};
  r.sparsity[0].mask = {.kind = "regrow", .refresh = 3, .end = 10, .share = 0.5};
  const auto t = trainer_of(r);
  std::vector<Index> came;
  while (!t->is_done()) {
    const Index step = t->state().step;
    const Mask before = mask_in(*t, weight);
    t->step();
    const Mask after = mask_in(*t, weight);
    CHECK(after.count() == 256);
    if (step == 0) continue;
    const auto now = values_in(*t);
    Index n = 0;
    for (Index i = 0; i < after.size(); ++i) {
      if (!after[i] || before[i]) continue;
      ++n;
      CHECK(now[static_cast<std::size_t>(i)] == 0);
    }
    CAPTURE(step);
    if (step % 3 == 0 && step < 10)
      came.push_back(n);
    else
      CHECK(n == 0);
  }
  REQUIRE(came.size() == 3);
  CHECK(came[0] > came[2]);
  CHECK(came[0] > 40);
}
