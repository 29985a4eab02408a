// SPDX-License-Identifier: Apache-2.0
// Training of image models on a device: the losses equal the CPU's, without a fallback.
#include <doctest/doctest.h>

#include "tests/device/serial_backend.h"
#include "tests/device/training_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

Recipe image_run(const TempDir& dir) {
  Recipe r = small_wide_resnet(dir);
  r.steps = 6;
  r.batch = 8;
  r.seed = 3;
  r.optimizer.kind = "sgd";
  r.optimizer.momentum = 0.9;
  return r;
}

}  // namespace

TEST_CASE("training a wide ResNet on a device has the CPU's losses" * long_only()) {
  const SerialDevice device;
  const TempDir dir;
  Recipe r = image_run(dir);
  check_losses(r);
  r.accumulate = 2;
  check_losses(r);
}

TEST_CASE("training a masked wide ResNet on a device has the CPU's losses") {
  const SerialDevice device;
  const TempDir dir;
  check_losses(with(image_run(dir), image_layers, "magnitude:sparsity=0.75", "masked", 3));
}

TEST_CASE("training an n:m:g wide ResNet on a device has the CPU's losses") {
  const SerialDevice device;
  const TempDir dir;
  check_losses(with(image_run(dir), image_layers, "nmg:n=2,m=4,g=4", "nmg:n=2,m=4,g=4", 3));
}
