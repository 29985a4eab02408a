// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/running_statistics.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "libsten/files/checkpoint/checkpoint_writer.h"
#include "libsten/files/system/atomic_file.h"
#include "tests/trainer/small_runs.h"

using namespace sten;
using namespace sten::testing;

namespace {

// The mean and the unbiased variance of each channel of the first convolution.
std::vector<std::vector<double>> moments_of(const Trainer& t, const Tensor& x) {
  const Tensor y = conv(x, parameter(t, "conv1.weight").value,
                        Attributes().set("pads", Attributes::List{1, 1, 1, 1}));
  const std::vector<float> all = floats(y.to_dense());
  const std::size_t n = 16, rows = all.size() / n;
  std::vector<std::vector<double>> both(2, std::vector<double>(n));
  for (std::size_t i = 0; i < all.size(); ++i) both[0][i % n] += all[i] / double(rows);
  for (std::size_t i = 0; i < all.size(); ++i)
    both[1][i % n] += (all[i] - both[0][i % n]) * (all[i] - both[0][i % n]) / double(rows - 1);
  return both;
}

}  // namespace

TEST_CASE("running statistics update with momentum 0.1 per micro-batch, without the optimizer") {
  const TempDir dir;
  Recipe r = small_wide_resnet(dir);
  r.accumulate = 2;
  r.clip = 0.5;
  r.optimizer.weight_decay = 0.5;
  const auto t = trainer_of(r);
  std::vector<double> mean(16, 0), variance(16, 1);
  for (int step = 0; step < 3; ++step) {
    for (const BatchPart& part : t->task().batch(step)) {
      const auto now = moments_of(*t, part.inputs.at("x"));
      for (std::size_t c = 0; c < 16; ++c) {
        mean[c] += 0.1 * (now[0][c] - mean[c]);
        variance[c] += 0.1 * (now[1][c] - variance[c]);
      }
    }
    t->step();
    const std::string bn = "block1.layer.0.bn1.";
    const auto got_mean = floats(parameter(*t, bn + "running_mean").value.to_dense());
    const auto got = floats(parameter(*t, bn + "running_var").value.to_dense());
    for (std::size_t c = 0; c < 16; ++c) {
      CHECK(got_mean[c] == doctest::Approx(mean[c]).epsilon(1e-4));
      CHECK(got[c] == doctest::Approx(variance[c]).epsilon(1e-4));
    }
  }
  // Running statistics have no optimizer state.
  CHECK(parameter(*t, "bn1.running_var").state.empty());
  CHECK(!parameter(*t, "bn1.weight").state.empty());
}

TEST_CASE("num_batches_tracked in a PyTorch checkpoint is ignored") {
  const TempDir dir;
  Recipe r = small_wide_resnet(dir);
  const Task task(r);
  r.seed = 9;
  NamedValues<Tensor> weights = Task(r).first_weights();
  const std::string extra = "bn1.num_batches_tracked";
  weights.emplace(extra, Dense::zeros(DType::I64, {}));
  std::vector<TensorInfo> contents;
  for (const auto& [name, w] : weights) contents.push_back({name, w.dtype(), w.shape(), w.spec()});
  OutputFile out(dir / "torch.safetensors", false);
  CheckpointWriter writer(out, {}, contents);
  for (const auto& [name, w] : weights) writer.add(name, w);
  writer.finish();
  out.commit();
  r.seed = 0;
  r.model.weights = dir / "torch.safetensors";
  const NamedValues<Tensor> first = Task(r).first_weights();
  CHECK(!first.contains(extra));
  CHECK(same_bits(first.at("conv1.weight").to_dense(), weights.at("conv1.weight").to_dense()));
  CHECK(!same_bits(first.at("conv1.weight").to_dense(),
                   task.first_weights().at("conv1.weight").to_dense()));
}

TEST_CASE("optimizer state of a running statistic is rejected") {
  const TempDir dir;
  const Recipe r = small_wide_resnet(dir);
  const auto t = trainer_of(r);
  t->step();
  TrainState state = t->state();
  const auto at = [&](const char* name) -> Parameter& {
    return *std::ranges::find(state.parameters, name, &Parameter::name);
  };
  at("bn1.running_mean").state = at("bn1.bias").state;
  CHECK(error_of([&] { trainer_of(r)->restore(state); }) ==
        "state of 'bn1.running_mean': a running statistic has no optimizer state");
}

TEST_CASE("every micro-batch of every step has a unique, reproducible random draw") {
  const TempDir dir;
  Recipe r = small_wide_resnet(dir);
  r.accumulate = 2;
  const Task task(r);
  std::vector<std::int64_t> draws;
  for (int step = 0; step < 3; ++step)
    for (const BatchPart& part : task.batch(step))
      draws.push_back(part.inputs.at("draw").as<Dense>().values.as<std::int64_t>()[0]);
  CHECK(draws.size() == 6);
  CHECK(task.batch(1)[1].inputs.at("draw").as<Dense>().values.as<std::int64_t>()[0] == draws[3]);
  std::sort(draws.begin(), draws.end());
  CHECK(std::adjacent_find(draws.begin(), draws.end()) == draws.end());
}

TEST_CASE("a wide ResNet learns, and evaluation uses its running statistics") {
  const TempDir dir;
  Recipe r = small_wide_resnet(dir);
  r.steps = 60;
  const auto t = trainer_of(r);
  while (!t->is_done()) t->step();
  const Measured m = t->task().measure(t->weights(), DataSplit::validation);
  CHECK(m.accuracy > 0.8);
  // Evaluation of one row at a time gives the same, which statistics of the batch would not.
  r.evaluation.batch = 1;
  CHECK(Task(r).measure(t->weights(), DataSplit::validation).loss ==
        doctest::Approx(m.loss).epsilon(1e-5));
}
