// Runs of training on a device beside the same ones on the CPU.
//
// Sums are rounded otherwise there, and one rounding can decide on which side of a ReLU's 0 a value is, or
// what a mask keeps: from there on the losses are others. The seeds of these runs are such that none does.
// The CPU's instruction sets have the same losses to 1e-6; and 20 runs that change each weight at each
// step by up to half of its last bit, to 4e-6. Whoever changes a run chooses its seed anew.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/sanitized.h"
#include "tests/support/warnings.h"
#include "tests/train/small_runs.h"

namespace sten::testing {

inline std::unique_ptr<Trainer> trainer_on(Device device, const Recipe& r, Index read_every = 1) {
  return std::make_unique<Trainer>(std::make_shared<const Task>(r), nullptr,
                                   TrainerOptions{device, read_every});
}

// Of all steps.
inline std::vector<TrainStep> steps_of(Trainer& t) {
  std::vector<TrainStep> all;
  while (!t.is_done()) all.push_back(t.step());
  return all;
}

// Of losses.
inline constexpr double nearness = 1e-5;

// For checkers: a step before weights are pruned, one with what is kept, and one that selects anew if any
// does.
inline Recipe shortened(Recipe r) {
  r.steps = 2;
  r.accumulate = std::min<Index>(r.accumulate, 2);
  for (SparsityRecipe& s : r.sparsity) {
    s.schedule.begin = std::min<Index>(s.schedule.begin, 1);
    s.mask.refresh = std::min<Index>(s.mask.refresh, 1);
    if (s.mask.refresh > 0 || s.scores) r.steps = 3;
    if (s.scores) s.scores->end = 2;
  }
  return r;
}

// Every step's loss and norm, and at last what is measured of the weights. Nothing may be warned of where
// the device has all that the run takes.
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

// The weights `target` in `layout` from a step on, selected anew every `refresh` steps; 0: never.
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
