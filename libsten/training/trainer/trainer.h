// SPDX-License-Identifier: Apache-2.0
// Trainer: the training loop, with the optimizer's steps and the sparsity stages of weights. Does
// not depend on time: the same recipe gives the same bytes for the same number of threads,
// instruction set and library of dense products (compute/linalg/dense_gemm.h, chosen by the
// caller), also after a resume.
//
// Ranks share the parts of a batch. Each has the whole state, and gradients are summed over ranks
// before use, so that all ranks stay equal bit for bit.
#pragma once
#include "libsten/training/trainer/batch_gradients.h"
#include "libsten/training/trainer/layer_recovery.h"

namespace sten {

struct TrainerOptions {
  // The device of weights, gradients, optimizer state and steps. Learned and accumulated scores are
  // on the CPU.
  Device device = Device::cpu;
  // On a device, the number of steps before losses and norms are read back, unless read() is
  // called; with several ranks, 1.
  Index read_every = 1;

  static constexpr Index usual_read_every = 16;  // of the programs
};

// The results of a step.
struct TrainStep {
  Index step = 0;         // from 0
  double loss = 0;        // of the batch, before the update; unused without predictions
  double rate = 0;        // of the update
  double norm = 0;        // of the gradients, if clipped
  bool is_read = true;    // false: loss and norm are those of the last read step
  Index predictions = 0;  // none: no loss and no update
  GradientTraffic traffic{};
};

class Trainer {
 public:
  // `ranks`: as many as the task is made for; none: this process only.
  explicit Trainer(std::shared_ptr<const Task> task, std::shared_ptr<Communicator> ranks = nullptr,
                   const TrainerOptions& options = {});
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // Runs the next step on all ranks. Error with the step, on all ranks, if the loss or the gradient
  // norm is not finite, before the update. With options.read_every, later steps may have run before
  // this Error, and the trainer cannot be used again.
  TrainStep step();
  // Reads back the loss and norm of the last step into the result of step(). Error as step().
  void read(TrainStep& last);
  bool is_done() const { return weights_.state.step == task_->steps(); }

  const Task& task() const { return *task_; }
  // On the trainer's device.
  const TrainState& state() const { return weights_.state; }
  const std::vector<WeightStages>& stages() const { return weights_.stages; }
  // The weights to measure and save, on the trainer's device: values of the state or their
  // averages, as sparse as in the forward pass.
  NamedValues<Tensor> weights() const { return selection_.measured(); }
  // The pruned share of all elements of the weights that the recipe makes sparse.
  double sparsity() const { return selection_.sparsity(); }
  // Hash of the initial weights, as text.
  const std::string& first_weights() const { return weights_.first_content; }
  // Hash of the teacher's weights; empty without a teacher.
  std::string teacher() const {
    return gradients_.teacher() ? gradients_.teacher()->content() : "";
  }
  // Whether no more stages or formats follow.
  bool is_sparse_as_planned() const;
  // Restores a state, which is on the CPU, on all ranks. Error if it is of another recipe: other weights, a
  // missing mask or scores, or other optimizer state.
  void restore(TrainState state);
  // Called on all ranks. Error on all ranks unless their weights are equal bit for bit.
  void check_ranks() const { exchange_.check_weights(); }

 private:
  using Gradients = StepExchange::Gradients;
  // The factor of gradients, for clipping: `factor` times that on the device, unless empty.
  struct GradientScale {
    double factor = 1;
    Array<float> on_device{};
  };

  double rate() const;
  GradientScale clip(const Gradients& gradients, TrainStep& step);
  void update(const Gradients& gradients, double rate, const GradientScale& scale);
  void average();

  std::shared_ptr<const Task> task_;
  StepGraph graph_;
  TrainedWeights weights_;
  RankExchange exchange_;
  BatchGradients gradients_;
  ScoreTraining scores_;
  WeightSelection selection_;
  LayerRecovery recovery_;
  std::vector<Index> begins_;  // first steps of stages, ascending
  RecipeOptimizer optimizer_;
  std::optional<DeferredMetrics> deferred_;
};

}  // namespace sten
