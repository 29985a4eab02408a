// SPDX-License-Identifier: Apache-2.0
// Comparison of a model's outputs with those of another model on the same data.
#pragma once
#include "libsten/model/execution/executor.h"
#include "libsten/programs/measure/comparison.h"
#include "libsten/programs/run/run_data.h"
#include "libsten/report/report.h"

namespace sten {

class ModelComparison {
 public:
  // Reads the other model, for the data that `model` runs on: given inputs, or the same data of a
  // recipe, read for the other model. Error if the models take different inputs or batches. `data`
  // and `model` must outlive this object.
  ModelComparison(ModelSource other, const Recipe* recipe, const DataOptions& options,
                  const RunData& data, const RunnableModel& model);
  ModelComparison(const ModelComparison&) = delete;
  ModelComparison& operator=(const ModelComparison&) = delete;

  // Called once before run().
  void start(Device device);
  // Runs the other model on batch i. `inputs`: those of `model`.
  void run(Index i, const NamedValues<Tensor>& inputs);
  // Compares output k of `model` with the other model's output of that name in the last run; the
  // first one otherwise with its first output. Error if dtypes or extents differ. `labels`: rows of
  // logits with ignored_label are not compared; nullptr: all rows are.
  void add(std::size_t k, const Dense& x, const Dense* labels = nullptr);

  const OutputDifference& difference(std::size_t k) const { return differences_[k]; }
  const LogitsDifference& logits() const { return logits_; }  // of the first outputs
  double largest_difference() const;
  // Adds facts and notes.
  void add_to(Report& r) const;

 private:
  std::string compared_with(std::size_t k) const;
  std::vector<std::string> not_compared() const;

  const RunnableModel& model_;
  const ModelSource source_;
  const std::unique_ptr<RunData> data_;  // nullptr: given inputs
  const RunnableModel other_;
  std::optional<Executor> executor_;
  NamedValues<Tensor> outputs_;  // of the last run
  std::vector<OutputDifference> differences_;
  LogitsDifference logits_;
};

}  // namespace sten
