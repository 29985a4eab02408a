// The data that a model is run on, in batches.
#pragma once
#include <memory>

#include "libsten/programs/run/model_source.h"
#include "libsten/programs/run/run_options.h"

namespace sten {

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

// The recipe of --data, or else the recipe that sten-train left with the model.
Recipe data_recipe(const ModelSource& source, const RunOptions& options);
// The data of a recipe's split, for the model. Error (usage) if the split is empty.
std::unique_ptr<RunData> data_of_recipe(const ModelSource& source, const Recipe& recipe,
                                        const RunOptions& options);
// The data of --input and --labels.
std::unique_ptr<RunData> data_of_inputs(const ModelSource& source, const RunOptions& options);

}  // namespace sten
