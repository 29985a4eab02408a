// What a model is run on, batch by batch.
#pragma once
#include <memory>

#include "libsten/run/model/model_source.h"
#include "libsten/run/model/run_model.h"

namespace sten {

struct RunBatch {
  NamedValues<Tensor> inputs;
  std::optional<Dense> labels;
  Index rows = 1;  // that throughput counts
};

class RunData {
 public:
  virtual ~RunData() = default;
  virtual Index batches() const = 0;
  virtual RunBatch batch(Index i) const = 0;
  // The model as this data needs it.
  virtual RunnableModel model(const ModelSource& source) const = 0;
  // Sentences about what was taken, where it was not said.
  virtual std::vector<std::string> notes() const { return {}; }
  // Of labels that have names; nullptr: they have none.
  virtual const F1Scorer* scorer() const { return nullptr; }
  // Of a recipe's data: "test"; empty: of given inputs.
  virtual std::string split() const { return ""; }
};

// Of --data; without it, the recipe that sten-train left beside the model.
Recipe data_recipe(const ModelSource& source, const RunOptions& options);
// A split of that recipe's data, as the model takes it. Error (usage) where it is empty.
std::unique_ptr<RunData> data_of_recipe(const ModelSource& source, const Recipe& recipe,
                                        const RunOptions& options);
// Of --input and --labels.
std::unique_ptr<RunData> data_of_inputs(const ModelSource& source, const RunOptions& options);

}  // namespace sten
