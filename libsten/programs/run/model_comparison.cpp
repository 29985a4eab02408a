// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/model_comparison.h"

#include <algorithm>

#include "libsten/core/base/name_list.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

// Both models get the same arrays.
void check_same_inputs(const RunnableModel& model, const RunnableModel& other) {
  std::vector<std::string> ours = model.graph.inputs(), theirs = other.graph.inputs();
  std::ranges::sort(ours);
  std::ranges::sort(theirs);
  if (ours != theirs)
    fail_usage("{} takes {}, but {} takes {}: expected the same inputs", model.name,
               name_list(ours), other.name, name_list(theirs));
}

bool are_logits(const Dense& x) {
  return x.dtype() == DType::F32 && !x.extents.empty() && x.extents.back() > 1;
}

}  // namespace

ModelComparison::ModelComparison(ModelSource other, const Recipe* recipe,
                                 const DataOptions& options, const RunData& data,
                                 const RunnableModel& model)
    : model_(model),
      source_(std::move(other)),
      data_(recipe ? data_of_recipe(source_, *recipe, options) : nullptr),
      other_((data_ ? *data_ : data).model(source_)),
      differences_(model.graph.outputs().size()) {
  if (!data_) check_same_inputs(model_, other_);
  if (data_ && data_->batches() != data.batches())
    fail("{} and {} take different batches of the data", model_.name, other_.name);
}

void ModelComparison::start(Device device) {
  executor_.emplace(other_.graph, other_.weights, ExecutorOptions{.device = device});
}

void ModelComparison::run(Index i, const NamedValues<Tensor>& inputs) {
  try {
    outputs_ = executor_->run(data_ ? data_->batch(i).inputs : inputs);
  } catch (const Error& e) {
    throw Error(e.fault(), fmt::format("--against {}: {}", other_.name, e.what()));
  }
}

// The output to compare with output k; "" if there is none.
std::string ModelComparison::compared_with(std::size_t k) const {
  const std::vector<std::string>& names = other_.graph.outputs();
  const std::string& name = model_.graph.outputs()[k];
  if (std::ranges::count(names, name) > 0) return name;
  return k == 0 ? names.front() : "";
}

void ModelComparison::add(std::size_t k, const Dense& x, const Dense* labels) {
  const std::string name = compared_with(k);
  if (name.empty()) return;
  const Dense y = outputs_.at(name).to_dense().to(Device::cpu);
  if (y.extents != x.extents || y.dtype() != x.dtype())
    fail("output {} of {} is {} {}, but {} of {} is {} {}", quote(model_.graph.outputs()[k]),
         model_.name, name_of(x.dtype()), to_string(x.extents), quote(name), other_.name,
         name_of(y.dtype()), to_string(y.extents));
  differences_[k].add(x, y);
  if (k > 0 || !are_logits(x)) return;
  std::vector<bool> counts;
  if (labels)
    for (const std::int64_t label : labels->values.as<std::int64_t>())
      counts.push_back(label != ignored_label);
  logits_.add(x, y, counts);
}

double ModelComparison::largest_difference() const {
  double most = 0;
  for (const OutputDifference& d : differences_) most = std::max(most, d.largest);
  return most;
}

// Lines on outputs that only one of the models has.
std::vector<std::string> ModelComparison::not_compared() const {
  std::vector<std::string> ours, theirs = other_.graph.outputs();
  for (std::size_t k = 0; k < differences_.size(); ++k) {
    const std::string with = compared_with(k);
    if (with.empty()) ours.push_back(quote(model_.graph.outputs()[k]));
    std::erase(theirs, with);
  }
  for (std::string& name : theirs) name = quote(name);
  std::vector<std::string> lines;
  for (const auto& [names, model] : {std::pair(ours, model_.name), {theirs, other_.name}})
    if (!names.empty())
      lines.push_back(fmt::format("not compared, since {} alone has {}: {}", model,
                                  names.size() == 1 ? "it" : "them", name_list(names)));
  return lines;
}

void ModelComparison::add_to(Report& r) const {
  const double most = largest_difference();
  r.facts.emplace_back("against/model", other_.name);
  r.facts.emplace_back("against/max_difference", most);
  std::string line = fmt::format("against {}: largest difference {:.3g}", other_.name, most);
  if (logits_.rows > 0) {
    r.facts.emplace_back("against/agreement", logits_.agreement());
    r.facts.emplace_back("against/divergence", logits_.mean_divergence());
    line += fmt::format(", {:.2f} % of {} rows have the same top class, KL divergence {:.3g}",
                        100 * logits_.agreement(), logits_.rows, logits_.mean_divergence());
  }
  r.notes.push_back(line);
  for (std::string& note : not_compared()) r.notes.push_back(std::move(note));
}

}  // namespace sten
