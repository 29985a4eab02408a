// SPDX-License-Identifier: Apache-2.0
// Training runs on a device, compared with the same runs on the CPU.
//
// Sums round differently on a device, and a rounding can decide on which side of a ReLU's 0 a value
// lies, or which weights a mask keeps; later losses then differ. The seeds of these runs avoid
// that: losses of the CPU's instruction sets agree to 1e-6, and those of 20 runs with every weight
// changed by up to half an ulp per step to 4e-6. Choose a new seed when you change a run.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/sanitized.h"
#include "tests/support/warnings.h"
#include "tests/trainer/small_runs.h"

namespace sten::testing {

inline std::unique_ptr<Trainer> trainer_on(Device device, const Recipe& r, Index read_every = 1) {
  return std::make_unique<Trainer>(std::make_shared<const Task>(r), nullptr,
                                   TrainerOptions{device, read_every});
}

// Runs all steps.
inline std::vector<TrainStep> steps_of(Trainer& t) {
  std::vector<TrainStep> all;
  while (!t.is_done()) all.push_back(t.step());
  return all;
}

// Tolerance of losses.
inline constexpr double nearness = 1e-5;

// For memory and race checkers: keeps only a dense step, a step with a mask, and a resparsifying
// step if there is one.
inline Recipe shortened(Recipe r) {
  r.steps = 2;
  r.accumulate = std::min<Index>(r.accumulate, 2);
  for (SparsityRecipe& s : r.sparsity) {
    s.schedule.begin = std::min<Index>(s.schedule.begin, 1);
    s.mask.refresh = std::min<Index>(s.mask.refresh, 1);
    if (s.mask.refresh > 0 || s.scores) r.steps = 3;
    if (s.scores) s.scores->end = 2;
    if (s.schedule.prunes_until_recovered()) {
      r.steps = 4;
      s.schedule.recovery.rounds = 1;
    }
  }
  return r;
}

// Checks loss and norm of every step, and the measures of the weights at the end. is_complete: the
// device has all operators of the run, so nothing falls back.
inline void check_losses(const Recipe& whole, bool is_complete = true) {
  const Recipe r = is_short() ? shortened(whole) : whole;
  CAPTURE(r.name);
  const auto here = trainer_on(Device::cpu, r);
  const std::vector<TrainStep> a = steps_of(*here);
  const Warnings warnings;
  const auto on_device = trainer_on(Device::cuda, r);
  const std::vector<TrainStep> b = steps_of(*on_device);
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(a[i].loss - b[i].loss));
    CHECK(std::abs(a[i].norm - b[i].norm) <= 10 * nearness * (1 + a[i].norm));
  }
  CHECK(most <= nearness);
  if (!is_short()) CHECK(a.back().loss < a.front().loss);
  CHECK(on_device->sparsity() == here->sparsity());
  for (const Parameter& p : on_device->state().parameters) CHECK(p.value.device() == Device::cuda);
  const auto measured = [](const Trainer& t) {
    return t.task().measure(t.weights(), DataSplit::validation).loss;
  };
  CHECK(std::abs(measured(*here) - measured(*on_device)) <= nearness);
  if (is_complete)
    for (const std::string& w : warnings.all) FAIL_CHECK(w);
}

inline constexpr const char* mlp_layers = "layers.{0,1}.weight";
inline constexpr const char* bert_layers = "bert.encoder.layer.*.{query,key,value,dense}.weight";
inline constexpr const char* image_layers = "block*.conv*.weight";

// Makes the weights `target` sparse in `layout` from `step` on, selected again every `refresh`
// steps; 0: never.
inline Recipe with(Recipe r, const std::string& target, const std::string& by,
                   const std::string& layout, Index step, Index refresh = 0) {
  r.name += "/" + layout + "/" + by;
  SparsityRecipe s = sparse(target, by);
  s.layout = Spec::parse(layout);
  s.schedule.kind = "one-shot";
  s.schedule.begin = step;
  if (refresh > 0) s.mask = {"refresh", refresh};
  r.sparsity = {s};
  return r;
}

inline Recipe with_sgd(Recipe r) {
  r.name += "/sgd";
  r.optimizer.kind = "sgd";
  r.optimizer.rate = 0.05;
  r.optimizer.momentum = 0.9;
  r.optimizer.nesterov = true;
  r.optimizer.weight_decay = 1e-3;
  return r;
}

}  // namespace sten::testing
