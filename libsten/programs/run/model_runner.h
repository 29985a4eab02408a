// SPDX-License-Identifier: Apache-2.0
// A model that runs on tensors in memory, as sten-run does on files.
#pragma once
#include <array>
#include <memory>
#include <optional>

#include "libsten/programs/run/given_inputs.h"
#include "libsten/programs/run/model_execution.h"

namespace sten {

class ModelRunner {
 public:
  // Reads the model of options.path; `device`, `repeats` and `explain` have no effect. The files
  // must not change as long as the object exists. Error as find_model(), describe_by() and
  // read_model().
  explicit ModelRunner(ModelOptions options);
  ModelRunner(const ModelRunner&) = delete;
  ModelRunner& operator=(const ModelRunner&) = delete;
  ~ModelRunner();

  // The names of the inputs. A language model also takes an attention_mask.
  std::vector<std::string> inputs() const;
  std::vector<std::string> outputs() const;
  // Runs on arrays, as inputs_of() assigns them to inputs. The first run, and the first one with
  // other shapes, plans and packs weights; a language model has a plan with and one without a mask.
  // Not thread-safe. Error as inputs_of(), set_layouts() and Executor::run().
  NamedValues<Tensor> run(const std::vector<GivenArray>& arrays);
  // The plan of the last run, without steps before the first one.
  ExecutionPlan plan() const;

 private:
  struct Plan;
  Plan& plan_for(bool has_mask);

  const ModelOptions options_;
  const ModelSource source_;
  std::array<std::unique_ptr<Plan>, 2> plans_;  // without and with a mask
  const Plan* last_ = nullptr;
};

}  // namespace sten
