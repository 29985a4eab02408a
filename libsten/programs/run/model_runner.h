// SPDX-License-Identifier: Apache-2.0
// A model that runs on tensors in memory, as sten-run does on files.
#pragma once
#include <memory>
#include <optional>

#include "libsten/programs/run/given_inputs.h"
#include "libsten/programs/run/model_execution.h"

namespace sten {

class ModelRunner {
 public:
  // Reads the model of options.path; `device`, `repeats` and `explain` have no effect. Error as
  // find_model(), describe_by() and read_model().
  explicit ModelRunner(ModelOptions options);
  ModelRunner(const ModelRunner&) = delete;
  ModelRunner& operator=(const ModelRunner&) = delete;

  // The names of the inputs. A language model also takes an attention_mask.
  std::vector<std::string> inputs() const;
  std::vector<std::string> outputs() const { return model_.graph.outputs(); }
  // Runs on arrays, as inputs_of() assigns them to inputs. The first run, and the first one with
  // other shapes, plans and packs weights. Not thread-safe. Error as inputs_of(), set_layouts() and
  // Executor::run().
  NamedValues<Tensor> run(const std::vector<GivenArray>& arrays);
  // The plan of the last run, without steps before the first one.
  ExecutionPlan plan() const { return execution_ ? execution_->plan() : ExecutionPlan(); }

 private:
  // Shapes, without the number of rows, of inputs that the model does not describe: the fused graph
  // depends on them.
  std::vector<Shape> undescribed_rows(const NamedValues<Tensor>& inputs) const;

  const ModelOptions options_;
  const ModelSource source_;
  bool has_mask_ = false;  // of model_
  RunnableModel model_;    // not fused
  std::optional<RunnableModel> fused_;
  std::vector<Shape> fused_rows_;
  std::optional<ModelExecution> execution_;  // of *fused_
};

}  // namespace sten
