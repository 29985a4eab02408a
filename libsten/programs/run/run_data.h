// The data that a model is run on, in batches.
#pragma once
#include <memory>

#include "libsten/programs/run/model_source.h"

namespace sten {

// The data of a run: arrays, or `path`.
struct DataOptions {
  std::vector<std::string> inputs{};  // see read_arrays()
  std::string labels{};               // labels of the input rows: .npy
  // A recipe, whose data section is used; or data: a .csv file, a text, or a folder of images.
  std::string path{};
  std::string split{};  // test | validation | train | all; empty: the first one of these with rows
  Index batch = 0;      // rows per batch; 0: all inputs, or as in the recipe
};

struct RunBatch {
  NamedValues<Tensor> inputs;
  std::optional<Dense> labels;
  Index rows = 1;  // counted by throughput
};

class RunData {
 public:
  virtual ~RunData() = default;
  virtual Index batches() const = 0;
  virtual RunBatch batch(Index i) const = 0;
  // The model with the inputs and outputs that this data needs.
  virtual RunnableModel model(const ModelSource& source) const = 0;
  // Notes on defaults that were used.
  virtual std::vector<std::string> notes() const { return {}; }
  // The scorer of named labels; nullptr without names.
  virtual const F1Scorer* scorer() const { return nullptr; }
  // The split of a recipe's data, "test"; empty for given inputs.
  virtual std::string split() const { return ""; }
};

// The recipe of options.path, or else the recipe that sten-train left with the model.
Recipe data_recipe(const ModelSource& source, const DataOptions& options);
// The data of a recipe's split, for the model. Error (usage) if the split is empty.
std::unique_ptr<RunData> data_of_recipe(const ModelSource& source, const Recipe& recipe,
                                        const DataOptions& options);
// The data of options.inputs and options.labels.
std::unique_ptr<RunData> data_of_inputs(const ModelSource& source, const DataOptions& options);

}  // namespace sten
