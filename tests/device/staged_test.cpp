// SPDX-License-Identifier: Apache-2.0
// sten-prune --schedule --recipe --device: stages that are trained on a device.
#include "libsten/model/nn/weights.h"
#include "libsten/programs/staged/staged_prune.h"
#include "tests/device/serial_backend.h"
#include "tests/device/training_runs.h"
#include "tests/support/prune_options.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("layer-wise pruning stages that are trained on a device recover as on the CPU") {
  const SerialDevice serial;
  const TempDir dir;
  Recipe r = small_mlp(dir);
  r.steps = is_short() ? 2 : 20;
  r.seed = 8;
  const auto dense = trainer_of(r);
  steps_of(*dense);
  StagedOptions o;
  o.prune = prune_options("unstructured", "dense");
  o.prune.input = dir / "dense.safetensors";
  save_weights(dense->task().graph(), dense->weights(), o.prune.input, true);
  o.prune.tensors.sparsity = 0.9;
  o.prune.patterns.include = {mlp_layers};
  o.structures = {"unstructured"};
  o.schedule = "layer-wise";
  o.recovery = {0.1, 2, 2};
  o.trainer.recipe = dir.write("recipe.json", to_json(r));
  const auto stages = [&](const std::string& device) {
    StagedOptions here = o;
    here.prune.device = DeviceSpec::parse(device);
    here.prune.output.path = dir / (device + ".safetensors");
    here.state = dir / device;
    return prune_in_stages(here).report;
  };
  const Warnings warnings;
  Report cpu = stages("cpu"), cuda = stages("cuda");
  REQUIRE(cpu.rows.size() == 2);
  REQUIRE(cuda.rows.size() == cpu.rows.size());
  for (std::size_t i = 0; i < cpu.rows.size(); ++i) {
    for (const char* key : {"loss_before", "loss"})
      CHECK(std::abs(std::get<double>(cpu.at(cpu.rows[i], key)) -
                     std::get<double>(cuda.at(cuda.rows[i], key))) <= nearness);
    CHECK(cpu.at(cpu.rows[i], "rounds") == cuda.at(cuda.rows[i], "rounds"));
  }
  for (const std::string& w : warnings.all) FAIL_CHECK(w);
}
