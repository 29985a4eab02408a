// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/batch_runner.h"

#include <algorithm>

#include "libsten/compute/ops/products/mixture_of_experts.h"
#include "libsten/core/tensor/low_floats.h"
#include "libsten/model/graph/subgraph.h"

namespace sten {

BatchRunner::BatchRunner(const Graph& graph, std::size_t end,
                         std::function<Tensor(const std::string& name)> weight)
    : graph_(graph),
      end_(end),
      weight_(std::move(weight)),
      last_use_(last_uses_before(graph, end)) {}

std::vector<std::size_t> BatchRunner::live_at(std::size_t node) const {
  std::vector<std::size_t> live;
  for (std::size_t i = 0; i < node; ++i)
    if (const std::size_t value = graph_.first_node() + i; last_use_[value] >= node)
      live.push_back(value);
  return live;
}

const Tensor& BatchRunner::stored(std::size_t value) {
  if (const auto at = stored_.find(value); at != stored_.end()) return at->second;
  return stored_.emplace(value, loaded(value)).first->second;
}

Tensor BatchRunner::loaded(std::size_t value) const {
  if (other_ && !other_->changed_.contains(value))
    if (const auto at = other_->stored_.find(value); at != other_->stored_.end()) return at->second;
  const std::size_t i = value - graph_.first_weight();
  const bool is_weight = i < graph_.weights().size();
  Tensor x = is_weight ? weight_(graph_.weights()[i].name)
                       : Tensor(graph_.constants()[i - graph_.weights().size()].value);
  return is_weight && !is_table(value) ? widened(x) : x;
}

// Whether only embeddings have the weight: they take rows of any dtype.
bool BatchRunner::is_table(std::size_t value) const {
  for (std::size_t i = 0; i < end_; ++i)
    if (std::ranges::count(graph_.arguments(i), value) > 0 &&
        graph_.nodes()[i].op != Name("embedding"))
      return false;
  return true;
}

void BatchRunner::replace(std::size_t weight, Tensor x) {
  stored_.insert_or_assign(weight, std::move(x));
  changed_.insert(weight);
}

bool BatchRunner::release_before(std::size_t node) {
  bool are_of_file = true;
  for (auto at = stored_.begin(); at != stored_.end();) {
    const bool is_needed = last_use_[at->first] >= node;
    are_of_file &= !is_needed || !changed_.contains(at->first);
    at = is_needed ? std::next(at) : stored_.erase(at);
  }
  return are_of_file;
}

Tensor BatchRunner::input_of(const LayerToCalibrate& layer, const BatchValues& values,
                             const BatchValues& routing) {
  const std::vector<std::size_t>& in = graph_.arguments(layer.node);
  if (!layer.expert) return values[in[0]];
  const Attributes& attributes = graph_.nodes()[layer.node].attributes;
  const Dense& logits = routing[in[1]].as<Dense>();
  const Tensor rows = rows_of_expert(attributes, values[in[0]].as<Dense>(), logits, *layer.expert);
  if (!layer.is_down) return rows;
  const std::size_t first = first_expert_input + *layer.expert * weights_per_expert;
  const Name activation(
      MixtureAttributes("mixture-of-experts", attributes, logits.extents.back()).activation->name);
  return ExpertHidden(activation, rows, stored(in[first]), stored(in[first + 1])).product;
}

}  // namespace sten
