// SPDX-License-Identifier: Apache-2.0
// 100 training steps on a device: the losses equal the CPU's in every step.
#include <doctest/doctest.h>

#include "tests/device/serial_backend.h"
#include "tests/device/training_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

constexpr Index long_run = 100;

std::vector<Recipe> long_mlp_runs(const TempDir& dir) {
  Recipe r = small_mlp(dir);
  r.steps = long_run;
  r.optimizer.rate = 0.002;
  r.seed = 8;
  Recipe masked = with_sgd(with(r, mlp_layers, "magnitude:sparsity=0.8", "masked", 5, 20));
  masked.optimizer.rate = 0.01;
  return {r, masked, with(r, mlp_layers, "nmg:n=1,m=4,g=4", "nmg:n=1,m=4,g=4", 5)};
}

std::vector<Recipe> long_bert_runs(const TempDir& dir) {
  Recipe r = small_bert(dir);
  r.steps = long_run;
  r.seed = 1;
  return {r, with(r, bert_layers, "magnitude:sparsity=0.8", "masked", 5),
          with(r, bert_layers, "nmg:n=1,m=4,g=4", "nmg:n=1,m=4,g=4", 5)};
}

std::vector<Recipe> long_image_runs(const TempDir& dir) {
  Recipe r = small_wide_resnet(dir);
  r.steps = long_run;
  r.batch = 4;
  r.optimizer.kind = "sgd";
  r.optimizer.momentum = 0.9;
  std::vector<Recipe> all = {r, with(r, image_layers, "magnitude:sparsity=0.75", "masked", 5),
                             with(r, image_layers, "nmg:n=2,m=4,g=4", "nmg:n=2,m=4,g=4", 5)};
  all[0].seed = 72;
  all[1].seed = 0;
  all[2].seed = 13;
  return all;
}

}  // namespace

TEST_CASE("training a perceptron for 100 steps on a device has the CPU's losses" * long_only()) {
  const SerialDevice device;
  const TempDir dir;
  for (const Recipe& r : long_mlp_runs(dir)) check_losses(r);
}

TEST_CASE("training a BERT for 100 steps on a device has the CPU's losses" * long_only()) {
  const SerialDevice device;
  const TempDir dir;
  for (const Recipe& r : long_bert_runs(dir)) check_losses(r);
}

TEST_CASE("training a wide ResNet for 100 steps on a device has the CPU's losses" * long_only()) {
  const SerialDevice device;
  const TempDir dir;
  for (const Recipe& r : long_image_runs(dir)) check_losses(r);
}
