// SPDX-License-Identifier: Apache-2.0
// Task: the model of a recipe with its loss, and the data.
#pragma once
#include <memory>

#include "libsten/training/task/imported.h"
#include "libsten/training/task/predictions.h"
#include "libsten/training/task/task_data.h"

namespace sten {

struct TaskUse {
  // No training, which needs less memory.
  bool only_measures = false;
  // Replaces the file of model.weights, or model.file for ONNX.
  std::shared_ptr<const Checkpoint> weights{};
  // Weights are loaded one at a time (weights_by_name()), so that memory for all is not needed,
  // unless the model is from a file that has its own.
  bool streams_weights = false;
  // Processes that share the parts of a batch.
  int ranks = 1;
};

class Task {
 public:
  // Reads the data and the model's config. Error with the file for contents that do not fit, and if
  // training needs more memory than the machine has; Error (usage) if parts of the recipe, or the
  // number of ranks, do not fit together.
  explicit Task(const Recipe& recipe, const TaskUse& use = {});

  // The recipe with its length in steps (in_steps).
  const Recipe& recipe() const { return recipe_; }
  // Outputs: logits [..., classes] and the loss, a scalar. The last input of the evaluation graph
  // is labels [...], -100 where not counted. A BERT computes logits of the predicted tokens only.
  const Graph& graph() const { return *graph_; }
  // The same without adapters: the weights of the model's files.
  const Graph& model() const { return *model_; }
  // Whether a weight of the graph is trained.
  bool trains(const std::string& weight) const;
  // The graph for evaluation.
  const Graph& evaluation_graph() const { return *evaluation_; }
  // The file of an ONNX model; nullptr for others.
  const Checkpoint* onnx() const {
    return imported_ && imported_->file ? &*imported_->file : nullptr;
  }
  // The initial weights: model.weights, else the ONNX model; nullptr for random weights.
  std::shared_ptr<const Checkpoint> first_checkpoint() const;
  // The names of the ONNX model's external data.
  std::vector<std::string> onnx_data() const;
  // The number of optimizer steps.
  Index steps() const { return recipe_.steps; }
  Index steps_per_epoch() const { return data_->steps_per_epoch(); }
  // Dense initial weights, from the recipe's checkpoint or random by its seed. A head that the
  // checkpoint of another task lacks is random.
  NamedValues<Tensor> first_weights() const;
  // The weights of the checkpoint in their stored layouts; dense ones borrow from it. Error without
  // a checkpoint.
  NamedValues<Tensor> stored_weights() const;
  // The weights of TaskUse::weights, to be loaded one at a time; nullptr if the model is from a file
  // that has its own. Error (input) as stored_weights().
  std::unique_ptr<StoredWeights> weights_by_name() const;
  // The dense weights of the recipe's teacher; may borrow from its file. Error as stored_weights();
  // Error (usage) if neither the recipe nor its model names any.
  NamedValues<Tensor> teacher_weights() const;
  // Error as first_weights(), without computing values.
  void check_first_weights() const;
  // The parts of step t's batch, a function of the recipe's seed and t. Parts without predictions
  // are omitted.
  std::vector<BatchPart> batch(Index step) const { return batch(step, {0, parts_}); }
  std::vector<BatchPart> batch(Index step, PartRange parts) const;
  // The number of parts of a batch: the recipe's, or else its smallest multiple that is a multiple
  // of the ranks.
  Index parts() const { return parts_; }
  PartRange parts_of(int rank) const {
    return {rank * parts_ / ranks_, (rank + 1) * parts_ / ranks_};
  }
  // Hash of the data, as text.
  std::string content() const;
  // The names of classes; empty if the labels have no names.
  const std::vector<std::string>& labels() const { return labels_; }
  const F1Scorer* scorer() const { return scorer_ ? &*scorer_ : nullptr; }
  // Whether the split has examples.
  bool has(DataSplit s) const { return data_->parts(s) > 0; }
  // Error (usage) if the recipe keeps the best model without a validation split. Warns of other
  // measurements on empty splits.
  void check_validation() const;
  // Warns of 16-bit weights in model.weights, which are trained as F32.
  void warn_of_low_weights() const;
  // Warns of pruned weights (a tenth of zeros, rank 2 or more) in the initial weights whose zeros
  // the recipe does not keep.
  void warn_of_unmasked_zeros() const;
  // The batches of measure(): inputs of the evaluation graph.
  const TaskData& data() const { return *data_; }
  // The evaluation graph with the formats of values in a step; by default, the last one.
  Graph measured_graph(std::optional<Index> step = {}) const;
  // Measures the evaluation graph on a whole split, with the same rows and masks each time, on the
  // weights' device. The mean is computed in double; count is 0 for an empty split.
  Measured measure(const NamedValues<Tensor>& weights, DataSplit s,
                   std::optional<Index> step = {}) const;

 private:
  NamedValues<Tensor> weights_of(const Checkpoint& file, bool may_initialize = false) const;
  NamedValues<Tensor> stored_weights(bool may_initialize) const;
  void check_size(double parameters, const std::string& what) const;
  void check_ranks() const;
  bool has_dropouts() const;

  Recipe recipe_;
  Index ranks_, parts_;
  bool only_measures_, streams_weights_;
  std::shared_ptr<const Checkpoint> weights_;
  std::optional<Graph> graph_, model_, evaluation_;
  std::shared_ptr<const ImportedModel> imported_;
  std::shared_ptr<TaskData> data_;
  std::vector<std::string> unused_;  // tensors of files for other uses
  std::vector<std::string> labels_;
  std::optional<F1Scorer> scorer_;
};

}  // namespace sten
