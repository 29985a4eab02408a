// SPDX-License-Identifier: Apache-2.0
// The interface of data that a model is run on, in batches.
#pragma once
#include "libsten/programs/run/choice_scores.h"
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
  // Windows of a text, and tokens from one to the next, for the perplexity; 0: see token_data().
  Index window = 0, stride = 0;
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
  // Whether labels are the next tokens of a text, whose perplexity is measured.
  virtual bool is_text() const { return false; }
  // Multiple-choice questions, whose choices are the rows; empty for other data.
  virtual std::span<const ChoiceQuestion> questions() const { return {}; }
  // The split of a recipe's data, "test"; empty for given inputs.
  virtual std::string split() const { return ""; }
};

}  // namespace sten
