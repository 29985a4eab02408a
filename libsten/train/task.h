// What a recipe trains: a model with its loss, and the data for it.
#pragma once
#include <memory>

#include "libsten/graph/graph.h"
#include "libsten/train/imported.h"
#include "libsten/train/predictions.h"

namespace sten {

// What a batch is computed in.
struct BatchPart {
  NamedValues<Tensor> inputs;  // of the graph
  Index predictions = 0;
  Index number = 0;  // among the parts of its batch
};

// With the inputs on that device.
BatchPart on_device(const BatchPart& part, Device device);
// Rows, windows or images that it has.
Index rows_of(const BatchPart& part);

// Parts [begin, end) of a batch.
struct PartRange {
  Index begin = 0, end = 0;
  bool operator==(const PartRange&) const = default;
};

enum class DataSplit { train, validation, test };
std::string_view name_of(DataSplit s);

// Where the rows of a task come from.
class TaskData {
 public:
  virtual ~TaskData() = default;
  virtual Index steps_per_epoch() const = 0;
  // Those of the parts that have predictions.
  virtual std::vector<BatchPart> batch(Index step, PartRange parts) const = 0;
  // Without repetition, in parts of evaluation.batch.
  virtual Index parts(DataSplit s) const = 0;
  virtual BatchPart part(DataSplit s, Index i) const = 0;
  // A hash of all rows.
  virtual std::uint64_t content() const = 0;
};

struct TaskUse {
  // Nothing is trained, so that less memory will do.
  bool only_measures = false;
  // In place of the file of model.weights, or of model.file where it is an ONNX model.
  std::shared_ptr<const Checkpoint> weights{};
  // Processes that share the parts of a batch.
  int ranks = 1;
};

class Task {
 public:
  // Reads the data and the model's config. Error with the file where something in it does not fit,
  // and where training takes more memory than the machine has; Error (usage) where the recipe's
  // parts do not fit each other, or the ranks.
  explicit Task(const Recipe& recipe, const TaskUse& use = {});

  // With the number of steps in it, whatever it was given as (in_steps).
  const Recipe& recipe() const { return recipe_; }
  // Its outputs are logits [..., classes] and the loss, a scalar; labels [...] are -100 where they
  // do not count: the last input of the evaluation graph. Logits of a BERT are those of the characters to be
  // predicted.
  const Graph& graph() const { return *graph_; }
  // The same when training is over: what is measured.
  const Graph& evaluation_graph() const { return *evaluation_; }
  // The file of an ONNX model; nullptr for other kinds.
  const Checkpoint* onnx() const {
    return imported_ && imported_->file ? &*imported_->file : nullptr;
  }
  // That training starts from: model.weights, else the ONNX model; nullptr for random weights.
  std::shared_ptr<const Checkpoint> first_checkpoint() const;
  // The names of its external data.
  std::vector<std::string> onnx_data() const;
  // Of the optimizer, in all.
  Index steps() const { return recipe_.steps; }
  Index steps_per_epoch() const { return data_->steps_per_epoch(); }
  // Of the recipe's checkpoint, or initial weights by its seed; dense. A head that the checkpoint
  // lacks, of a model that was made for another use, is initial, too.
  NamedValues<Tensor> first_weights() const;
  // Those of the checkpoint, which is required, in their stored layouts; dense ones borrow from it.
  NamedValues<Tensor> stored_weights() const;
  // Those of the recipe's teacher, dense; they may borrow from its file. Error as stored_weights(),
  // and (usage) where the recipe names none and its model has none.
  NamedValues<Tensor> teacher_weights() const;
  // Error as from first_weights(), whose values are not made.
  void check_first_weights() const;
  // The parts of step t's batch, which depends on the recipe's seed and t alone. What has no
  // predictions is left out.
  std::vector<BatchPart> batch(Index step) const { return batch(step, {0, parts_}); }
  std::vector<BatchPart> batch(Index step, PartRange parts) const;
  // How many a batch is computed in: as the recipe says, and where its number is not a multiple of
  // the ranks, the smallest one that is a multiple of both.
  Index parts() const { return parts_; }
  PartRange parts_of(int rank) const {
    return {rank * parts_ / ranks_, (rank + 1) * parts_ / ranks_};
  }
  // A hash of the data, as text.
  std::string content() const;
  // What classes are called, of data with labels that have names; else empty.
  const std::vector<std::string>& labels() const { return labels_; }
  const F1Scorer* scorer() const { return scorer_ ? &*scorer_ : nullptr; }
  // Whether the split has examples.
  bool has(DataSplit s) const { return data_->parts(s) > 0; }
  // Error (usage) where the recipe wants the best model on no rows; warns of what else it asks to
  // measure on none.
  void check_validation() const;
  // Warns of weights in model.weights that have 16 bits: they train as F32.
  void warn_of_low_weights() const;
  // Warns of pruned weights (a tenth of zeros, rank 2 or more) in the file that training starts from
  // whose zeros no entry of the recipe's sparsity keeps.
  void warn_of_unmasked_zeros() const;
  // What measure() computes one after the other: inputs of the evaluation graph.
  const TaskData& data() const { return *data_; }
  // The evaluation graph with the formats of values that the recipe has in that step; without one,
  // in the last.
  Graph measured_graph(std::optional<Index> step = {}) const;
  // On the weights' device. By that graph on all of a split, always the same rows and masks; a count of 0 where it is empty.
  // The mean is computed in double.
  Measured measure(const NamedValues<Tensor>& weights, DataSplit s,
                   std::optional<Index> step = {}) const;

 private:
  NamedValues<Tensor> weights_of(const Checkpoint& file, bool may_begin_anew = false) const;
  NamedValues<Tensor> stored_weights(bool may_begin_anew) const;
  void check_size(double parameters, const std::string& what) const;
  void check_ranks() const;
  bool has_dropouts() const;

  Recipe recipe_;
  Index ranks_, parts_;
  bool only_measures_;
  std::shared_ptr<const Checkpoint> weights_;
  std::optional<Graph> graph_, evaluation_;
  std::shared_ptr<const ImportedModel> imported_;
  std::shared_ptr<TaskData> data_;
  std::vector<std::string> labels_;
  std::optional<F1Scorer> scorer_;
};

}  // namespace sten
