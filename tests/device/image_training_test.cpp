// Training of image models on a device: the losses of the CPU, and nothing falls back.
#include <doctest/doctest.h>

#include "tests/device/serial_backend.h"
#include "tests/device/training_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::vector<Recipe> image_runs(const TempDir& dir) {
  Recipe r = small_wide_resnet(dir);
  r.steps = 6;
  r.batch = 8;
  r.seed = 3;
  r.optimizer.kind = "sgd";
  r.optimizer.momentum = 0.9;
  Recipe parts = r;
  parts.accumulate = 2;
  return {r, parts, with(r, image_layers, "magnitude:sparsity=0.75", "masked", 3),
          with(r, image_layers, "nmg:n=2,m=4,g=4", "nmg:n=2,m=4,g=4", 3)};
}

}  // namespace

TEST_CASE("losses of a wide ResNet in training on a device are the CPU's") {
  const SerialDevice device;
  const TempDir dir;
  for (const Recipe& r : image_runs(dir)) check_losses(r);
}
