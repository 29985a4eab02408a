// The loop of training: batches, gradients, the optimizer's steps, and which weights become sparse
// when. Nothing of it depends on the clock: the same recipe gives the same bytes at the same number
// of threads, instruction set and library of dense products (linalg/dense_gemm.h, which the caller
// chooses), also where it stopped and went on.
//
// Several ranks share the parts of a batch. Each has all of the state, and gradients are summed over
// ranks before anything is made of them, so that the ranks stay the same bit for bit.
#pragma once
#include <variant>

#include "kernels/block/step_functions.h"
#include "libsten/comm/communicator.h"
#include "libsten/optim/adamw.h"
#include "libsten/optim/sgd.h"
#include "libsten/product/device_product.h"
#include "libsten/train/deferred_metrics.h"
#include "libsten/train/distillation.h"
#include "libsten/train/learned_scores.h"
#include "libsten/train/running_statistics.h"
#include "libsten/train/task.h"
#include "libsten/train/weight_stages.h"

namespace sten {

// All that a step depends on beside the recipe and its data.
struct TrainState {
  Index step = 0;                     // the next one
  std::vector<Parameter> parameters;  // in the order of the graph's weights
  NamedValues<Tensor> scores;         // dense; of weights that are ranked by more than values
                                      // (what an optimizer remembers of them is their weight's)
  // Whether values of the parameters are what is measured and saved, too (Trainer::weights()).
  bool is_measured = true;
};

// Under which a parameter's state has the average of its values.
inline constexpr const char* average_key = "ema";

// What the optimizer remembers of learned scores has this before its names.
inline constexpr std::string_view score_state = "score-";

// Bytes of gradients that a rank gives to its transport in a step, and how many they would be if all
// were dense; of all weights, and of those that are sparse in that step. Of those sent, what the
// transport took from a device's memory.
struct GradientTraffic {
  std::uint64_t sent = 0, dense = 0, sparse_sent = 0, sparse_dense = 0, from_device = 0;
};

// The same on the CPU, and what is measured of it likewise.
TrainState on_cpu(TrainState state);
NamedValues<Tensor> on_cpu(NamedValues<Tensor> weights);

struct TrainerOptions {
  // Where weights, gradients and what optimizers remember of them are, and where steps are computed.
  // Learned scores, and those that add up, are on the CPU.
  Device device = Device::cpu;
  // A device computes as many steps before losses and norms are read back, unless read() asks for
  // them; with several ranks each step's are.
  Index read_every = 1;
};

// What came of one step.
struct TrainStep {
  Index step = 0;         // from 0
  double loss = 0;        // of its batch, before the update
  double rate = 0;        // that the update had
  double norm = 0;        // of the gradients, where they are clipped
  bool is_read = true;    // else loss and norm are those of the last step that was read back
  Index predictions = 0;  // none: nothing was updated
  GradientTraffic traffic{};
};

class Trainer {
 public:
  // `ranks`: as many as the task is made for; none: this process alone.
  explicit Trainer(std::shared_ptr<const Task> task, std::shared_ptr<Communicator> ranks = nullptr,
                   const TrainerOptions& options = {});
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  // The next step, with all ranks. Error that names it where the loss or the gradients' norm is no
  // finite number, which all ranks have; nothing was updated then. With options.read_every steps after
  // that one may have been made of it, and the trainer is of no more use.
  TrainStep step();
  // Loss and norm of the last step, into what step() has returned. Error as of step().
  void read(TrainStep& last);
  bool is_done() const { return state_.step == task_->steps(); }

  const Task& task() const { return *task_; }
  // On the trainer's device.
  const TrainState& state() const { return state_; }
  const std::vector<WeightStages>& stages() const { return stages_; }
  // What is measured and saved: values of the state, or their averages, as sparse as they compute; on
  // the trainer's device.
  NamedValues<Tensor> weights() const;
  // Pruned elements of all weights that the recipe makes sparse, by the elements of these.
  double sparsity() const;
  // A hash of the weights before the first step, as text.
  const std::string& first_weights() const { return first_weights_; }
  // Of those of the teacher; empty without one.
  std::string teacher() const { return teacher_ ? teacher_->content() : ""; }
  // Whether no stage is still to come, and no other format.
  bool is_sparse_as_planned() const;
  // To go on from there. Error where it is not of this recipe: of another model, without a mask or
  // scores that it has to have by then, or with what its optimizer does not remember. It is on the CPU.
  void restore(TrainState state);
  // With all ranks: Error, which all have, if their weights are not the same bit for bit.
  void check_ranks() const;

 private:
  using Gradients = std::vector<std::optional<Tensor>>;
  struct Sparse {
    const WeightStages* stages = nullptr;
    std::optional<Sparsifier> accumulating;  // one whose scores add up, as movement's
    bool ranks_by_gradient = false;
    Index kept = 0;
    bool is_statistic = false;  // which has no gradient
    // Of the values, what the forward pass of this step takes: straight-through, or by scores.
    std::optional<Tensor> computing;
    const LearnedScores* learned = nullptr;
    std::optional<Mask> selected;          // of this step, by learned scores
    std::optional<Tensor> score_gradient;  // of this step
  };

  class Exchange;  // of gradients, between ranks

  void check_state(const TrainState& state) const;
  double rate() const;
  void begin_formats();
  void begin_stages();
  void calibrate();
  bool is_straight_through(std::size_t i) const;
  bool needs_all_positions(std::size_t i) const;
  const OutFormat& gradient_format(std::size_t i, OutFormat& own) const;
  bool is_formatted_by_tape(const OutFormat& gradient, const Tensor& w) const;
  // What the format makes of a dense gradient of the weight.
  static Tensor formatted(const Tensor& gradient, const OutFormat& f, const Tensor& w);
  void format_gradients(Gradients& gradients) const;
  void gradients_of(const BatchPart& part, double share, StatisticsOfStep& statistics,
                    const std::function<void(const Tensor&)>& on_loss,
                    const Tape::Receiver& on_gradient);
  Gradients gradients_of_parts(const std::vector<BatchPart>& parts, TrainStep& step,
                               StatisticsOfStep& statistics, bool all_have_parts);
  void agree_on_loss(TrainStep& step) const;
  void complete(Gradients& gradients) const;
  bool exchanges_on_device();
  void check_positions();
  void pull_to_zero(Gradients& gradients) const;
  bool learns_scores(std::size_t i) const;
  ScoredWeight scored(std::size_t i, const Dense& w) const;
  Dense value_here(std::size_t i) const;
  void move(Parameter& p) const;
  double clip_norm(const Gradients& gradients, TrainStep& step, Array<float>& device_scale);
  void begin_scores(std::size_t i);
  void end_scores(std::size_t i);
  void take_score_gradients(Gradients& gradients);
  void update_scores(std::size_t i);
  Tensor measured_by_scores(std::size_t i) const;
  void collect_scores(const Gradients& gradients);
  void update(const Gradients& gradients, double rate, double scale,
              const Array<float>& scale_on_device);
  void select(std::size_t i, const Spec& by);
  void select_computing(std::size_t i);
  void regrow(std::size_t i, const Tensor& gradient);
  void average();
  void average(Parameter& p, std::vector<kernels::AveragedElements>& device_scale) const;
  Tensor measured(std::size_t i) const;
  void count(std::size_t i);

  std::shared_ptr<const Task> task_;
  std::shared_ptr<Communicator> ranks_;
  const Device device_;
  const kernels::Factors factors_;  // of products on it
  const Graph plain_;               // what is minimised, with moments
  Graph graph_;                     // the same with the formats of this step
  bool has_formats_ = false;        // that graph_ has those
  std::string loss_;                // the output that is
  std::optional<Teacher> teacher_;
  std::vector<WeightStages> stages_;
  std::vector<Sparse> sparse_;  // by parameter
  std::vector<Index> begins_;   // of stages; ascending
  std::variant<Sgd, AdamW> optimizer_;
  TrainState state_;
  std::string first_weights_;
  bool has_new_positions_ = true;            // that ranks have not compared
  std::optional<bool> exchanges_on_device_;  // once it is known
  std::optional<Tensor> seed_;               // of the last backward pass, of this share of a batch
  double seed_share_ = 0;
  std::optional<DeferredMetrics> deferred_;
  DeferredMetrics::Metrics last_read_;
};

}  // namespace sten
