// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/model_runner.h"

namespace sten {
namespace {

ModelSource source_of(const ModelOptions& options) {
  ModelSource source = find_model(options.path);
  describe_by(options.config, source);
  return source;
}

// Shapes, without the number of rows, of inputs that the model does not describe: the fused graph
// depends on them.
std::vector<Shape> dynamic_shapes(const RunnableModel& model, const NamedValues<Tensor>& inputs) {
  std::vector<Shape> shapes;
  for (const ModelInput& p : model.inputs) {
    if (p.shape) continue;
    Shape row = inputs.at(p.name).shape();
    if (!row.empty()) row.erase(row.begin());
    shapes.push_back(std::move(row));
  }
  return shapes;
}

}  // namespace

struct ModelRunner::Plan {
  RunnableModel model;  // not fused
  std::vector<Shape> shapes{};
  std::optional<RunnableModel> fused{};       // for these shapes
  std::optional<ModelExecution> execution{};  // of *fused
};

ModelRunner::ModelRunner(ModelOptions options)
    : options_(std::move(options)), source_(source_of(options_)) {
  plan_for(false);
}
ModelRunner::~ModelRunner() = default;

ModelRunner::Plan& ModelRunner::plan_for(bool has_mask) {
  std::unique_ptr<Plan>& plan = plans_[has_mask];
  if (!plan) plan = std::make_unique<Plan>(Plan{read_model(source_, has_mask)});
  return *plan;
}

std::vector<std::string> ModelRunner::inputs() const {
  std::vector<std::string> names;
  for (const ModelInput& p : plans_[false]->model.inputs) names.push_back(p.name);
  return names;
}
std::vector<std::string> ModelRunner::outputs() const {
  return plans_[false]->model.graph.outputs();
}

NamedValues<Tensor> ModelRunner::run(const std::vector<GivenArray>& arrays) {
  Plan& plan = plan_for(has_mask(arrays));
  const NamedValues<Tensor> inputs = inputs_of(arrays, plan.model).values;
  std::vector<Shape> shapes = dynamic_shapes(plan.model, inputs);
  if (!plan.execution || shapes != plan.shapes) {
    plan.execution.reset();
    plan.fused.emplace(fused(plan.model, inputs));
    plan.execution.emplace(options_, Device::cpu, *plan.fused, inputs);
    plan.shapes = std::move(shapes);
  }
  last_ = &plan;
  plan.execution->run(inputs);
  return plan.execution->take_outputs();
}

ExecutionPlan ModelRunner::plan() const {
  return last_ && last_->execution ? last_->execution->plan() : ExecutionPlan();
}

}  // namespace sten
