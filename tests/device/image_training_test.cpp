// Training of image models on a device: the losses of the CPU, and nothing falls back.
#include <doctest/doctest.h>

#include "tests/device/serial_backend.h"
#include "tests/support/warnings.h"
#include "tests/train/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Of all steps, and at last by the running statistics.
std::vector<double> image_losses(const Recipe& r, Device device) {
  Trainer t(std::make_shared<const Task>(r), nullptr, TrainerOptions{device, 1});
  std::vector<double> all;
  while (!t.is_done()) all.push_back(t.step().loss);
  all.push_back(t.task().measure(t.weights(), DataSplit::validation).loss);
  for (const Parameter& p : t.state().parameters) CHECK(p.value.device() == device);
  return all;
}

void check_image_losses(const Recipe& r) {
  CAPTURE(r.name);
  const std::vector<double> here = image_losses(r, Device::cpu);
  const Warnings warnings;
  const std::vector<double> there = image_losses(r, Device::cuda);
  for (const std::string& w : warnings.all) FAIL_CHECK(w);
  REQUIRE(here.size() == there.size());
  for (std::size_t i = 0; i < here.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(here[i] - there[i]) <= 1e-5);
  }
  CHECK(here[here.size() - 2] < here.front());
}

// From step 3 on.
Recipe sparse_images(Recipe r, const std::string& by, const std::string& layout) {
  r.name += "/" + layout;
  SparsityRecipe s = sparse("block*.conv*.weight", by);
  s.layout = Spec::parse(layout);
  s.schedule.kind = "one-shot";
  s.schedule.begin = 3;
  r.sparsity = {s};
  return r;
}

}  // namespace

TEST_CASE("losses of a wide ResNet in training on a device are the CPU's") {
  const SerialDevice device;
  const TempDir dir;
  Recipe r = small_wide_resnet(dir);
  r.steps = 10;
  r.optimizer.kind = "sgd";
  r.optimizer.momentum = 0.9;
  check_image_losses(r);
  r.accumulate = 2;
  check_image_losses(r);
  r.accumulate = 1;
  check_image_losses(sparse_images(r, "magnitude:sparsity=0.75", "masked"));
  check_image_losses(sparse_images(r, "nmg:n=2,m=4,g=4", "nmg:n=2,m=4,g=4"));
}
