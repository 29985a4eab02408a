// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/model_runner.h"

#include <algorithm>

namespace sten {
namespace {

ModelSource source_of(const ModelOptions& options) {
  ModelSource source = find_model(options.path);
  describe_by(options.config, source);
  return source;
}

}  // namespace

ModelRunner::ModelRunner(ModelOptions options)
    : options_(std::move(options)),
      source_(source_of(options_)),
      model_(read_model(source_, has_mask_)) {}

std::vector<std::string> ModelRunner::inputs() const {
  std::vector<std::string> names;
  for (const ModelInput& p : model_.inputs) names.push_back(p.name);
  return names;
}

std::vector<Shape> ModelRunner::undescribed_rows(const NamedValues<Tensor>& inputs) const {
  std::vector<Shape> rows;
  for (const ModelInput& p : model_.inputs) {
    if (p.shape) continue;
    Shape row = inputs.at(p.name).shape();
    if (!row.empty()) row.erase(row.begin());
    rows.push_back(std::move(row));
  }
  return rows;
}

NamedValues<Tensor> ModelRunner::run(const std::vector<GivenArray>& arrays) {
  const bool has_mask = std::ranges::count(arrays, "attention_mask", &GivenArray::name) > 0;
  if (has_mask != has_mask_) {
    execution_.reset();
    model_ = read_model(source_, has_mask);
    has_mask_ = has_mask;
  }
  const NamedValues<Tensor> inputs = inputs_of(arrays, model_).values;
  std::vector<Shape> rows = undescribed_rows(inputs);
  if (!execution_ || rows != fused_rows_) {
    execution_.reset();
    fused_.emplace(fused(model_, inputs));
    execution_.emplace(options_, Device::cpu, *fused_, inputs);
    fused_rows_ = std::move(rows);
  }
  execution_->run(inputs);
  return execution_->take_outputs();
}

}  // namespace sten
