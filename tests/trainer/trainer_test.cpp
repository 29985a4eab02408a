// SPDX-License-Identifier: Apache-2.0
// The training loop: effects of a step on weights, masks and optimizer state.
#include <doctest/doctest.h>

#include <cmath>

#include "libsten/core/registry/registry.h"
#include "libsten/core/sparsify/magnitude.h"
#include "libsten/core/tensor/low_floats.h"
#include "libsten/model/nn/weights.h"
#include "tests/support/warnings.h"
#include "tests/trainer/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

double largest_difference(const Trainer& a, const Trainer& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.state().parameters.size(); ++i) {
    const auto x = floats(a.state().parameters[i].value.to_dense());
    const auto y = floats(b.state().parameters[i].value.to_dense());
    for (std::size_t k = 0; k < x.size(); ++k) most = std::max(most, std::abs(double{x[k]} - y[k]));
  }
  return most;
}

std::vector<const void*> addresses(const Trainer& t) {
  std::vector<const void*> all;
  for (const Parameter& p : t.state().parameters) {
    all.push_back(p.value.values()->bytes().data());
    for (const auto& [key, s] : p.state)
      if (key != "step") all.push_back(s.values()->bytes().data());
  }
  return all;
}

// Number of elements that are not 0 where the mask is not set.
Index off_mask(const Tensor& t, const Mask& mask) {
  const std::vector<float> v = floats(t.to_dense());
  Index n = 0;
  for (std::size_t i = 0; i < v.size(); ++i) n += !mask[static_cast<Index>(i)] && v[i] != 0;
  return n;
}

// The gradient that user-products computed last, and the scores that it was asked to rank by.
Dense made, ranked_by;

struct Products {
  static constexpr const char* name = "user-products";
  static constexpr bool needs_scores = true;
  static Dense scores_of(const Dense& x, const Dense& gradient) {
    made = Dense::zeros(DType::F32, x.extents);
    for (Index i = 0; i < x.size(); ++i)
      made.values.mutate<float>()[i] = x.values.as<float>()[i] * gradient.values.as<float>()[i];
    return made;
  }
  Mask select(const Dense& x, const Hints& hints) const {
    ranked_by = *hints.scores;
    return Magnitude{0.5}.select(Dense{x.extents, hints.scores->values}, {});
  }
};
// Scores that count the steps.
struct Steps {
  static constexpr const char* name = "user-steps";
  static constexpr bool needs_scores = true;
  static void add_scores(Dense& scores, const Dense&, const Dense&) {
    for (float& s : scores.values.mutate<float>()) ++s;
  }
  Mask select(const Dense& x, const Hints& hints) const {
    ranked_by = *hints.scores;
    return Magnitude{0.5}.select(x, {});
  }
};

}  // namespace

TEST_CASE("training lowers the loss of an MLP, a BERT and a GPT") {
  const TempDir dir, of_gpt;
  for (Recipe r : {small_mlp(dir), small_bert(dir), small_gpt(of_gpt)}) {
    CAPTURE(r.name);
    r.steps = 40;
    const auto t = trainer_of(r);
    const Measured before = t->task().measure(t->weights(), DataSplit::validation);
    while (!t->is_done()) t->step();
    const Measured after = t->task().measure(t->weights(), DataSplit::validation);
    CHECK(before.count > 0);
    CHECK(after.loss < 0.8 * before.loss);
    CHECK(after.accuracy > before.accuracy);
  }
}

TEST_CASE("16-bit weights are trained as float32, with a warning") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.steps = 3;
  const Task task(r);
  for (const DType low : {DType::BF16, DType::F16}) {
    NamedValues<Tensor> narrow = task.first_weights(), wide = narrow;
    for (auto& [name, w] : narrow) w = rounded_to(low, w);
    for (auto& [name, w] : wide) w = widened(narrow.at(name));
    std::vector<double> losses[2];
    for (const bool is_low : {false, true}) {
      r.model.weights = dir / "begin.safetensors";
      save_weights(task.graph(), is_low ? narrow : wide, r.model.weights, true);
      const Warnings warnings;
      const auto t = trainer_of(r);
      t->task().warn_of_low_weights();
      CHECK(warnings.all.size() == (is_low ? 1 : 0));
      if (is_low)
        CHECK(has(warnings.all.front(), fmt::format("of {} converted to F32", name_of(low))));
      for (int i = 0; i < 3; ++i) losses[is_low].push_back(t->step().loss);
      for (const auto& [name, w] : t->weights()) CHECK(w.dtype() == DType::F32);
    }
    CHECK(losses[0] == losses[1]);
  }
}

TEST_CASE("every step preserves the sparsity; pruned weights and their optimizer state are 0") {
  const TempDir dir;
  struct Case {
    const char* sparsifier;
    Index kept;  // of layers.1.weight [32, 32]
  };
  for (const Case& c : {Case{"magnitude:sparsity=0.9", 1024 - 922},
                        {"nmg:n=1,m=4,g=4", 256},
                        {"nm:n=2,m=4", 512},
                        {"block-magnitude:sparsity=0.5,h=4,w=4", 512}})
    for (const char* kind : {"adamw", "sgd"})
      for (const Index refresh : {0, 3}) {
        CAPTURE(c.sparsifier);
        CAPTURE(kind);
        CAPTURE(refresh);
        Recipe r = small_mlp(dir);
        r.optimizer.kind = kind;
        r.optimizer.momentum = r.optimizer.kind == std::string("sgd") ? 0.9 : 0;
        r.clip = 1;
        r.sparsity = {sparse("layers.1.weight", c.sparsifier)};
        r.sparsity[0].mask = {"refresh", refresh};
        const auto t = trainer_of(r);
        while (!t->is_done()) {
          t->step();
          const Parameter& p = parameter(*t, "layers.1.weight");
          const Mask mask = p.value.stored();
          CHECK(mask.count() == c.kept);
          CHECK(off_mask(p.value, mask) == 0);
          for (const auto& [key, s] : p.state)
            if (key != "step") CHECK(off_mask(s, mask) == 0);
          CHECK(t->sparsity() == doctest::Approx(1 - static_cast<double>(c.kept) / 1024));
        }
      }
}

TEST_CASE("a fixed mask does not change after the first step") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.sparsity = {sparse("layers.*.weight", "magnitude:sparsity=0.75")};
  const auto t = trainer_of(r);
  t->step();
  const Mask first = mask_in(*t, "layers.1.weight");
  while (!t->is_done()) t->step();
  CHECK(same_mask(first, mask_in(*t, "layers.1.weight")));
}

TEST_CASE("a mask refresh can restore a pruned weight, whose optimizer state starts at 0") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.optimizer.rate = 0.05;
  r.sparsity = {sparse("layers.1.weight", "magnitude:sparsity=0.9")};
  r.sparsity[0].mask = {"refresh", 4};
  const auto t = trainer_of(r);
  for (int i = 0; i < 4; ++i) t->step();
  const Mask before = mask_in(*t, "layers.1.weight");
  t->step();  // number 4
  const Parameter& p = parameter(*t, "layers.1.weight");
  const Mask after = p.value.stored();
  const auto m = floats(p.state.at("m").to_dense()), v = floats(p.state.at("v").to_dense());
  Index back = 0;
  for (Index i = 0; i < after.size(); ++i) {
    if (before[i] || !after[i]) continue;
    ++back;
    // (1 - beta1) g and (1 - beta2) g^2 for a single gradient.
    const double g = m[i] / 0.1;
    CHECK(v[i] == doctest::Approx(0.001 * g * g).epsilon(1e-4));
    CHECK(g != 0);
  }
  CHECK(back > 0);
  // Without a refresh, no position comes back.
  t->step();
  CHECK(same_mask(after, mask_in(*t, "layers.1.weight")));
}

TEST_CASE("a GPT pruned to n:m:g learns to predict the next token") {
  const TempDir dir;
  Recipe r = small_gpt(dir);
  r.steps = 60;
  r.sparsity = {sparse("transformer.h.*.c_*.weight", "nmg:n=1,m=2,g=4")};
  const auto t = trainer_of(r);
  while (!t->is_done()) t->step();
  CHECK(mask_in(*t, "transformer.h.0.attn.c_attn.weight").count() == 48 * 16 / 2);
  CHECK(t->task().measure(t->weights(), DataSplit::test).accuracy > 0.8);
}

TEST_CASE("a training step updates weights and optimizer state in place") {
  const TempDir dir;
  for (Recipe r : {small_mlp(dir), small_bert(dir)}) {
    CAPTURE(r.name);
    r.clip = 0.1;
    r.sparsity = {sparse(r.model.kind == "mlp" ? "layers.1.weight" : "bert.encoder.*.dense.weight",
                         "magnitude:sparsity=0.5")};
    const auto t = trainer_of(r);
    t->step();
    const auto first = addresses(*t);
    for (int i = 0; i < 4; ++i) t->step();
    CHECK(addresses(*t) == first);
  }
}

TEST_CASE("gradient accumulation matches the whole batch up to rounding") {
  const TempDir dir, of_gpt;
  for (Recipe whole : {small_mlp(dir), small_bert(dir), small_gpt(of_gpt)}) {
    CAPTURE(whole.name);
    whole.optimizer.kind = "sgd";
    whole.optimizer.rate = 0.1;
    whole.clip = 0.5;
    whole.steps = 5;
    whole.sparsity = {sparse("*.1.*weight", "magnitude:sparsity=0.5")};
    if (whole.model.kind == "mlp") whole.sparsity[0].target = "layers.1.weight";
    Recipe parts = whole;
    parts.accumulate = 4;
    const auto a = trainer_of(whole), b = trainer_of(parts);
    while (!a->is_done()) {
      const TrainStep x = a->step(), y = b->step();
      CHECK(x.predictions == y.predictions);
      CHECK(x.loss == doctest::Approx(y.loss).epsilon(1e-5));
      CHECK(x.norm == doctest::Approx(y.norm).epsilon(1e-4));
    }
    CHECK(largest_difference(*a, *b) < 1e-5);
  }
}

TEST_CASE("iterative stages start at the recipe's steps with the recipe's sparsity") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.sparsity = {sparse("layers.1.weight", "magnitude:sparsity=0.75")};
  ScheduleRecipe& s = r.sparsity[0].schedule;
  s.kind = "iterative";
  s.from = 0.25;
  s.to = 0.75;
  s.step = 0.25;
  s.begin = 2;
  s.end = 11;
  const auto t = trainer_of(r);
  std::vector<Index> kept;
  while (!t->is_done()) {
    t->step();
    kept.push_back(mask_in(*t, "layers.1.weight").count());
    CHECK(t->is_sparse_as_planned() == (kept.size() > 8));
  }
  const Index all = 1024;
  // Weights that are not pruned yet are dense, so all nonzeros count as stored.
  CHECK(kept == std::vector<Index>{all, all, 768, 768, 768, 512, 512, 512, 256, 256, 256, 256});
}

TEST_CASE("each stage of a layer-wise schedule prunes the next weight in natural order") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.sparsity = {sparse("layers.*.weight", "magnitude:sparsity=0.5")};
  r.sparsity[0].schedule.kind = "layer-wise";
  const auto t = trainer_of(r);
  std::vector<double> sparsity;
  while (!t->is_done()) {
    t->step();
    sparsity.push_back(std::round(t->sparsity() * 1664));
  }
  // For 512, 1024 and 128 elements.
  CHECK(sparsity ==
        std::vector<double>{256, 256, 256, 256, 768, 768, 768, 768, 832, 832, 832, 832});
}

TEST_CASE("movement ranks by scores of all steps so far, gradient by the last step's gradient") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.optimizer.kind = "sgd";
  r.optimizer.rate = 0.1;
  r.optimizer.weight_decay = 0;
  r.sparsity = {sparse("layers.1.weight", "movement:sparsity=0.5"),
                sparse("layers.0.weight", "gradient:sparsity=0.5")};
  r.sparsity[0].schedule.begin = r.sparsity[1].schedule.begin = 3;
  const auto t = trainer_of(r);
  Dense sum = Dense::zeros(DType::F32, {32, 32});
  Dense last = Dense::zeros(DType::F32, {32, 16});
  // SGD without momentum: the gradient is the change of a step.
  for (int i = 0; i < 3; ++i) {
    const Tensor w1 = parameter(*t, "layers.1.weight").value,
                 w0 = parameter(*t, "layers.0.weight").value;
    t->step();
    const auto before = floats(w1.to_dense()),
               after = floats(parameter(*t, "layers.1.weight").value.to_dense());
    for (std::size_t k = 0; k < before.size(); ++k)
      sum.values.mutate<float>()[k] -= before[k] * (before[k] - after[k]) / 0.1f;
    const auto b0 = floats(w0.to_dense()),
               a0 = floats(parameter(*t, "layers.0.weight").value.to_dense());
    for (std::size_t k = 0; k < b0.size(); ++k)
      last.values.mutate<float>()[k] = (b0[k] - a0[k]) / 0.1f;
  }
  const Dense w1 = parameter(*t, "layers.1.weight").value.to_dense(),
              w0 = parameter(*t, "layers.0.weight").value.to_dense();
  const Mask moved = registry()
                         .sparsifier(Spec::parse("movement:sparsity=0.5"))
                         .select(w1, {nullptr, &sum, nullptr});
  const Mask steep = registry()
                         .sparsifier(Spec::parse("gradient:sparsity=0.5"))
                         .select(w0, {nullptr, &last, nullptr});
  t->step();
  // Except for rounding, which can exchange a few elements.
  const auto common = [](const Mask& a, const Mask& b) {
    Index n = 0;
    for (Index i = 0; i < a.size(); ++i) n += a[i] && b[i];
    return n;
  };
  CHECK(mask_in(*t, "layers.1.weight").count() == 512);
  CHECK(common(moved, mask_in(*t, "layers.1.weight")) > 505);
  CHECK(mask_in(*t, "layers.0.weight").count() == 256);
  CHECK(common(steep, mask_in(*t, "layers.0.weight")) > 252);
}

TEST_CASE("a user-defined sparsifier ranks by its own scores at stages and mask refreshes") {
  registry().add_sparsifier(Products::name, Spec(Products::name),
                            [](const Spec&) { return Products{}; });
  registry().add_sparsifier(Steps::name, Spec(Steps::name), [](const Spec&) { return Steps{}; });
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.sparsity = {sparse("layers.1.weight", Products::name)};
  r.sparsity[0].schedule.begin = 3;
  r.sparsity[0].mask = {"refresh", 4};
  const auto t = trainer_of(r);
  for (const Index step : {3, 7}) {
    while (t->state().step <= step) t->step();
    CHECK(made.extents == Shape{32, 32});
    CHECK(same_bits(ranked_by, made));
    made = {};
  }
  r.sparsity[0].sparsifier = Spec(Steps::name);
  const auto s = trainer_of(r);
  for (const auto& [step, sum] : {std::pair{3, 3.0f}, {7, 8.0f}}) {  // step 7 before its mask
    while (s->state().step <= step) s->step();
    CHECK(floats(ranked_by) == std::vector<float>(1024, sum));
  }
}

TEST_CASE("gradient clipping limits the norm over the kept positions of all parameters") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.optimizer.kind = "sgd";
  r.optimizer.rate = 1;
  r.optimizer.weight_decay = 0;
  r.clip = 0.01;
  r.sparsity = {sparse("layers.*.weight", "magnitude:sparsity=0.5")};
  const auto t = trainer_of(r);
  t->step();
  std::vector<std::vector<float>> before;
  for (const Parameter& p : t->state().parameters) before.push_back(floats(p.value.to_dense()));
  const TrainStep s = t->step();
  double squares = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto after = floats(t->state().parameters[i].value.to_dense());
    for (std::size_t k = 0; k < after.size(); ++k)
      squares += std::pow(double{after[k]} - before[i][k], 2);
  }
  CHECK(s.norm > 0.01);
  CHECK(std::sqrt(squares) == doctest::Approx(0.01).epsilon(1e-3));
}

TEST_CASE("the gradient norm includes pruned positions only in steps that update them") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.clip = 0.01;
  r.sparsity = {sparse("layers.*.weight", "magnitude:sparsity=0.5")};
  const auto norm_of_second = [&](const MaskRecipe& mask) {
    r.sparsity[0].mask = mask;
    const auto t = trainer_of(r);
    t->step();
    return t->step().norm;
  };
  const double kept = norm_of_second({"fixed"});
  CHECK(norm_of_second({"refresh", 5}) == kept);
  CHECK(norm_of_second({"refresh", 1}) > kept);
  CHECK(norm_of_second({"regrow", 1}) == doctest::Approx(kept));  // updates no position
}

TEST_CASE("a non-finite loss ends the run with an error that names the step") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.optimizer.kind = "sgd";
  r.optimizer.rate = 1e30;
  const auto t = trainer_of(r);
  const std::string text = error_of([&] {
    while (!t->is_done()) t->step();
  });
  CHECK(has(text, "step "));
  CHECK(has(text, "loss is"));
  CHECK(has(text, "optimizer.rate"));
}

TEST_CASE("a text whose train split is shorter than a window is rejected by name") {
  for (const auto make : {small_bert, small_gpt}) {
    const TempDir dir;
    Recipe r = make(dir);
    r.data.train = 0.007;
    const bool is_gpt = r.model.kind == "gpt";
    CHECK(error_of([&] { Task{r}; }) ==
          fmt::format("{}: the train split of {} tokens is shorter than a window of {} (see "
                      "data.train, data.window)",
                      r.data.text.front(), is_gpt ? 14 : 21, r.data.window));
  }
}

TEST_CASE("unknown targets and targets of two sparsity entries are rejected by name") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.sparsity = {sparse("layer.1.weight", "magnitude:sparsity=0.5")};
  const std::string near = error_of([&] { trainer_of(r); });
  CHECK(has(near, "/sparsity/0"));
  CHECK(has(near, "'layers.1.weight'"));
  r.sparsity = {sparse("layers.*.weight", "magnitude:sparsity=0.5"),
                sparse("layers.1.*", "magnitude:sparsity=0.5")};
  const std::string twice = error_of([&] { trainer_of(r); });
  CHECK(has(twice, "/sparsity/1"));
  CHECK(has(twice, "/sparsity/0"));
  CHECK(has(twice, "'layers.1.weight'"));
}
