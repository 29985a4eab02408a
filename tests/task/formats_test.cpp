// SPDX-License-Identifier: Apache-2.0
// Formats of values and gradients in recipes.
#include <doctest/doctest.h>

#include "libsten/training/task/step_formats.h"
#include "libsten/training/trainer/step_routes.h"
#include "tests/trainer/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

FormatRecipe format(const std::string& of, const std::string& target, Index begin = 0,
                    Index end = 12) {
  FormatRecipe f;
  f.of = of;
  f.target = target;
  f.begin = begin;
  f.end = end;
  return f;
}

std::vector<double> losses(const Recipe& r) {
  Trainer t(std::make_shared<Task>(r));
  std::vector<double> all;
  while (!t.is_done()) all.push_back(t.step().loss);
  return all;
}

// Elements of a weight that the first step of such a recipe moves.
Index moved(const Recipe& r, const std::string& weight) {
  const auto task = std::make_shared<Task>(r);
  Trainer t(task);
  const auto before = floats(task->first_weights().at(weight).to_dense());
  t.step();
  for (const Parameter& p : t.state().parameters) {
    if (p.name != weight) continue;
    const auto after = floats(p.value.to_dense());
    Index n = 0;
    for (std::size_t i = 0; i < before.size(); ++i) n += before[i] != after[i];
    return n;
  }
  return -1;
}

std::string error_of_formats(const Recipe& r) {
  return error_of([&] { Trainer t(std::make_shared<Task>(r)); });
}

}  // namespace

TEST_CASE("training with csr intermediates matches training with dense intermediates") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  const std::vector<double> plain = losses(r);
  FormatRecipe f = format("intermediate", "layers.*.relu");
  f.inline_by = Spec("relu");
  f.temporary = f.layout = Spec("csr");
  r.formats = {f};
  const std::vector<double> sparse = losses(r);
  for (std::size_t i = 0; i < plain.size(); ++i)
    CHECK(sparse[i] == doctest::Approx(plain[i]).epsilon(1e-4));
}

TEST_CASE("a format applies from its begin step until before its end step") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.optimizer.rate = 1e-30;  // so that only rows distinguish steps
  const std::vector<double> plain = losses(r);
  FormatRecipe f = format("intermediate", "layers.1", 3, 5);
  f.external = Spec::parse("threshold:at=1e9");  // nothing stays
  r.formats = {f};
  const std::vector<double> some = losses(r);
  for (Index i = 0; i < 12; ++i) CHECK((some[i] == plain[i]) == (i < 3 || i >= 5));
}

TEST_CASE("evaluation applies the intermediate formats of its step") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  FormatRecipe f = format("intermediate", "layers.1.relu", 3, 12);
  f.inline_by = Spec("relu");
  f.temporary = f.layout = Spec("csr");
  r.formats = {f, format("intermediate-gradient", "layers.0", 0, 12)};
  r.formats[1].layout = Spec("masked");
  const Task task(r);
  const auto layout_at = [&](std::optional<Index> step) {
    return task.measured_graph(step).find_node("layers.1.relu")->formats.out.layout.str();
  };
  CHECK(layout_at(2) == "dense");
  CHECK(layout_at(3) == "csr");
  CHECK(layout_at({}) == "csr");
  const Measured sparse = task.measure(task.first_weights(), DataSplit::validation);
  const Measured dense = task.measure(task.first_weights(), DataSplit::validation, 0);
  CHECK(sparse.loss == doctest::Approx(dense.loss).epsilon(1e-5));
}

TEST_CASE("with gradient accumulation, a gradient sparsifier selects from the whole batch") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.optimizer = {"sgd"};
  r.optimizer.weight_decay = 0;
  FormatRecipe f = format("weight-gradient", "layers.1.weight");
  f.external = Spec::parse("magnitude:sparsity=0.75");
  r.formats = {f};
  CHECK(moved(r, "layers.1.weight") == 256);  // of 1024
  r.accumulate = 2;
  CHECK(moved(r, "layers.1.weight") == 256);
  r.formats[0].temporary = r.formats[0].layout = Spec("csr");
  CHECK(moved(r, "layers.1.weight") == 256);
}

TEST_CASE("gradient accumulation in csr and coo has exactly the losses of dense gradients") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.accumulate = 8;  // 2 rows, for which many relus are shut
  const std::vector<double> plain = losses(r);
  FormatRecipe f = format("weight-gradient", "layers.*.weight");
  for (const char* by : {"keep-all", "same-pattern"})
    for (const char* layout : {"csr", "coo"}) {
      CAPTURE(by);
      CAPTURE(layout);
      f.inline_by = Spec(by);
      f.temporary = f.layout = Spec(layout);
      r.formats = {f};
      CHECK(losses(r) == plain);
    }
}

TEST_CASE("a gradient layout that does not fit a weight's shape is rejected before training") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  FormatRecipe f = format("weight-gradient", "layers.1.*");
  f.layout = Spec("csr");
  r.formats = {f};
  CHECK(error_of_formats(r).starts_with("/formats/0/target: the gradient of 'layers.1.bias': "));
  r.formats[0].target = "layers.1.weight";
  CHECK(error_of_formats(r).empty());
}

TEST_CASE("formats of intermediates do not apply to the moments of batch norms") {
  const TempDir dir;
  Recipe r = small_wide_resnet(dir);
  const std::vector<double> plain = losses(r);
  FormatRecipe f = format("intermediate", "block1.*", 0, r.steps);
  f.temporary = f.layout = Spec("csr");
  r.formats = {f};
  const std::vector<double> sparse_too = losses(r);
  for (std::size_t i = 0; i < plain.size(); ++i)
    CHECK(sparse_too[i] == doctest::Approx(plain[i]).epsilon(1e-3));
  r.formats[0].target = "*.moments";
  CHECK(error_of_formats(r).starts_with("/formats/0/target: '*.moments' matches none of the "));
}

TEST_CASE("a mask refresh with csr gradients has the losses of dense gradients") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.sparsity = {sparse("layers.1.weight", "magnitude:sparsity=0.5")};
  r.sparsity[0].mask.kind = "refresh";
  r.sparsity[0].mask.refresh = 3;
  for (const char* layout : {"masked", "csr"}) {
    r.formats = {};
    r.sparsity[0].layout = Spec(layout);
    const std::vector<double> plain = losses(r);
    FormatRecipe f = format("weight-gradient", "layers.1.weight");
    f.layout = Spec("csr");
    r.formats = {f};
    const std::vector<double> got = losses(r);
    for (std::size_t i = 0; i < plain.size(); ++i)
      CHECK(got[i] == doctest::Approx(plain[i]).epsilon(1e-4));
  }
}

TEST_CASE("same-pattern gradients of dense and csr intermediates match plain training") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  const std::vector<double> plain = losses(r);
  FormatRecipe f = format("intermediate-gradient", "layers.1");
  f.inline_by = Spec("same-pattern");
  r.formats = {f};
  CHECK(losses(r) == plain);
  std::swap(r.formats[0].inline_by, r.formats[0].external);
  CHECK(losses(r) == plain);
  // For a csr intermediate, as relu writes it, the gradient is needed only at its positions.
  FormatRecipe value = format("intermediate", "layers.1.relu");
  value.inline_by = Spec("relu");
  value.temporary = value.layout = Spec("csr");
  r.formats = {value, format("intermediate-gradient", "layers.1.relu")};
  r.formats[1].external = Spec("same-pattern");
  r.formats[1].layout = Spec("csr");
  const std::vector<double> sparse_too = losses(r);
  for (std::size_t i = 0; i < plain.size(); ++i)
    CHECK(sparse_too[i] == doctest::Approx(plain[i]).epsilon(1e-4));
}

TEST_CASE("a random sparsifier of a format is seeded by the step unless the recipe sets a seed") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  FormatRecipe f = format("intermediate", "layers.0.relu");
  f.inline_by = Spec::parse("random:fraction=0.5");
  r.formats = {f};
  const Task task(r);
  const auto drawn = [&](Index step) {
    return with_formats(task.graph(), r, step)
        .find_node("layers.0.relu")
        ->formats.out.inline_by.spec();
  };
  CHECK(drawn(1) == drawn(1));
  CHECK(drawn(1) != drawn(2));
  r.formats[0].inline_by = Spec::parse("random:fraction=0.5,seed=3");
  CHECK(drawn(1) == drawn(2));
}

TEST_CASE("a resumed run applies the formats of its step") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  FormatRecipe f = format("intermediate", "layers.1", 3, 9);
  f.external = Spec::parse("magnitude:sparsity=0.5");
  r.formats = {f};
  const auto task = std::make_shared<Task>(r);
  Trainer all(task), first(task), rest(task);
  for (int i = 0; i < 6; ++i) first.step();
  rest.restore(first.state());
  double a = 0, b = 1;
  while (!all.is_done()) a = all.step().loss;
  while (!rest.is_done()) b = rest.step().loss;
  CHECK(a == b);
}

TEST_CASE("formats that do not fit the model are rejected with their JSON pointer") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.formats = {format("intermediate", "layers.0.rule")};
  CHECK(has(error_of_formats(r),
            "/formats/0/target: 'layers.0.rule' matches none of the 6 values of the model; near "
            "are 'layers.0.relu'"));
  r.formats = {format("weight-gradient", "layers.0")};
  CHECK(has(error_of_formats(r), "'layers.0' matches none of the 6 weights of the model"));
  r.formats = {format("intermediate", "layers.*"), format("intermediate", "layers.0", 11, 12)};
  CHECK(has(error_of_formats(r),
            "/formats/1/target: 'layers.0' also matches /formats/0 in some of the same steps"));
  r.formats = {format("intermediate", "layers.*", 0, 11),
               format("intermediate", "layers.0", 11, 12)};
  CHECK(error_of_formats(r).empty());
  SparsityRecipe s;
  s.target = "layers.0.weight";
  s.sparsifier = Spec::parse("magnitude:sparsity=0.5");
  s.mask.kind = "straight-through";
  s.mask.end = s.schedule.end = 12;
  r.sparsity = {s};
  r.formats = {format("weight-gradient", "layers.0.weight")};
  CHECK(has(error_of_formats(r),
            "'layers.0.weight' needs the dense gradient: the mask is straight-through"));
}

TEST_CASE("step_routes predicts the dispatch plans that a training step takes") {
  const TempDir dir;
  Recipe r = small_mlp(dir);
  SparsityRecipe s;
  s.target = "layers.1.weight";
  s.sparsifier = Spec::parse("magnitude:sparsity=0.5");
  s.layout = Spec("csr");
  s.mask.end = s.schedule.end = 12;
  r.sparsity = {s};
  FormatRecipe f = format("intermediate", "layers.*.relu");
  f.inline_by = Spec("relu");
  f.temporary = f.layout = Spec("csr");
  FormatRecipe g = format("weight-gradient", "layers.0.weight");
  g.external = Spec::parse("magnitude:sparsity=0.75");
  FormatRecipe h = format("intermediate-gradient", "layers.0.relu");
  h.inline_by = Spec::parse("threshold:at=1e-3");
  h.temporary = h.layout = Spec("masked");
  r.formats = {f, g, h};
  const auto task = std::make_shared<Task>(r);
  std::vector<std::string> planned, taken;
  for (const NodeRoute& n : step_routes(*task, weight_stages(r, task->graph()), 0))
    planned.push_back(n.forward->text);
  const std::size_t forwards = planned.size();
  auto routes = step_routes(*task, weight_stages(r, task->graph()), 0);
  std::reverse(routes.begin(), routes.end());
  for (const NodeRoute& n : routes)
    if (n.backward) planned.push_back(n.backward->text);
  CHECK(planned.size() == 2 * forwards);
  Trainer t(task);
  Operators::log_plans(&taken);
  t.step();
  Operators::log_plans(nullptr);
  CHECK(taken == planned);
}
