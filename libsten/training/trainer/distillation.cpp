// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/distillation.h"

#include <algorithm>

#include "libsten/core/base/hash.h"
#include "libsten/core/base/name_pattern.h"
#include "libsten/core/base/text.h"
#include "libsten/model/graph/inference.h"
#include "libsten/training/trainer/own_memory.h"

namespace sten {
namespace {

// The loss of a task's graph has two inputs: logits and labels.
const Node& loss_of(const Graph& g) { return *g.find_node(g.outputs().back()); }

std::string input_for(const std::string& value) { return "teacher." + value; }

// Outputs of whole layers.
std::string usual_states(const ModelRecipe& m) {
  return m.kind == "bert" ? R"(re:^bert\.encoder\.layer\.\d+\.output\.LayerNorm$)"
                          : R"(re:\.(h|layers)\.\d+\.(mlp|block_sparse_moe)\.add$)";
}

std::vector<std::string> states_of(const Task& task) {
  const DistillationRecipe& d = *task.recipe().distillation;
  std::vector<std::string> states;
  if (d.hidden == 0) return states;
  const NamePattern pattern(d.states.empty() ? usual_states(task.recipe().model) : d.states);
  for (const Node& n : task.graph().nodes()) {
    if (!pattern.matches(n.name)) continue;
    if (!task.evaluation_graph().find_node(n.name))
      fail_usage("/distillation/states: {} is not a value of the model in evaluation mode",
                 quote(n.name));
    states.push_back(n.name);
  }
  if (states.empty())
    fail_usage("/distillation/states: {} matches no value of the model", quote(d.states));
  return states;
}

constexpr const char* mask_input = "attention_mask";
constexpr const char* token_input = "distillation.tokens";

// Whether the usual states have rows of padding.
bool has_padding(const Task& task) {
  const DistillationRecipe& d = *task.recipe().distillation;
  return d.hidden > 0 && d.states.empty() && task.recipe().model.kind == "bert" &&
         std::ranges::count(task.graph().inputs(), mask_input) > 0;
}

// The positions of a mask [B, T] that are not padding.
Dense tokens_of(const Tensor& mask) {
  const auto is_token = mask.as<Dense>().values.as<std::int64_t>();
  std::vector<std::int64_t> at;
  for (Index i = 0; i < std::ssize(is_token); ++i)
    if (is_token[i] != 0) at.push_back(i);
  Dense tokens = Dense::zeros(DType::I64, {std::ssize(at)});
  std::ranges::copy(at, tokens.values.mutate<std::int64_t>().begin());
  return tokens;
}

class Builder {
 public:
  explicit Builder(GraphParts g) : g_(std::move(g)) {}

  std::string node(std::string name, const char* op, std::vector<std::string> inputs,
                   Attributes attributes = {}) {
    g_.nodes.push_back({name, op, std::move(inputs), std::move(attributes)});
    return name;
  }
  // A value may be compared in two terms.
  std::string from_teacher(const std::string& value) { return input(input_for(value)); }
  // The rows of the states x [B, T, hidden] that are not padding.
  std::string tokens(const std::string& x, Index hidden) {
    const std::string name = "distillation." + x;
    const std::string rows = node(name + ".rows", "reshape", {x},
                                  Attributes().set("shape", Attributes::List{-1, hidden}));
    return node(name + ".tokens", "embedding", {rows, input(token_input)});
  }
  // Adds the term with this weight to the sum of the previous terms.
  void add(const std::string& term, double weight) {
    const std::string scaled =
        weight == 1 ? term
                    : node(term + ".scaled", "scale", {term}, Attributes().set("by", weight));
    sum_ = sum_.empty() ? scaled : node(term + ".added", "add", {sum_, scaled});
  }
  Graph build() && {
    g_.outputs.push_back(sum_);
    return Graph(std::move(g_));
  }

 private:
  std::string input(const std::string& name) {
    if (std::ranges::count(g_.inputs, name) == 0) g_.inputs.push_back(name);
    return name;
  }

  GraphParts g_;
  std::string sum_;
};

}  // namespace

Graph training_graph(const Task& task) {
  GraphParts parts = task.graph().parts();
  const Node loss = loss_of(task.graph());
  const Recipe& r = task.recipe();
  if (r.label_smoothing > 0)
    for (Node& n : parts.nodes)
      if (n.name == loss.name) n.attributes.set("smoothing", r.label_smoothing);
  if (!r.distillation) return Graph(std::move(parts));
  const DistillationRecipe& d = *r.distillation;
  Builder b(std::move(parts));
  if (d.logits < 1) b.add(loss.name, 1 - d.logits);
  if (d.logits > 0)
    b.add(b.node("distillation.logits", "kl-divergence",
                 {loss.inputs[0], b.from_teacher(loss.inputs[0]), loss.inputs[1]},
                 Attributes().set("temperature", d.temperature)),
          d.logits);
  const std::vector<std::string> states = states_of(task);
  const bool is_padded = has_padding(task);
  for (const std::string& s : states) {
    std::vector<std::string> compared{s, b.from_teacher(s)};
    if (is_padded)
      for (std::string& x : compared)
        x = b.tokens(x, task.graph().find_weight(s + ".weight")->shape.front());
    b.add(b.node("distillation." + s, "mse", std::move(compared)),
          d.hidden / static_cast<double>(states.size()));
  }
  return std::move(b).build();
}

Teacher::Teacher(const Task& task, Device device)
    : graph_([&] {
        const DistillationRecipe& d = *task.recipe().distillation;
        GraphParts g = task.evaluation_graph().parts();
        std::vector<std::string> outputs = states_of(task);
        const std::string& logits = loss_of(task.graph()).inputs[0];
        if (d.logits > 0 && std::ranges::count(outputs, logits) == 0) outputs.push_back(logits);
        prune_to_outputs(g, std::move(outputs));
        return Graph(std::move(g));
      }()),
      weights_(task.teacher_weights()),
      has_padding_(has_padding(task)) {
  std::uint64_t hash = 0;
  for (const Weight& weight : task.model().weights()) {
    Tensor& w = weights_.at(weight.name);
    hash = hash_bytes(hash, w.values()->bytes());
    w = in_own_memory(w, device);
  }
  content_ = fmt::format("{:016x}", hash);
}

NamedValues<Tensor> Teacher::values(const BatchPart& part, const BatchPart& on_device) const {
  NamedValues<Tensor> inputs;
  for (const std::string& name : graph_.inputs()) inputs.emplace(name, on_device.inputs.at(name));
  NamedValues<Tensor> values;
  for (auto& [name, value] : graph_.run<Tensor>(weights_, inputs))
    values.emplace(input_for(name), std::move(value));
  if (has_padding_)
    values.emplace(
        token_input,
        tokens_of(part.inputs.at(mask_input)).to(on_device.inputs.at(mask_input).device()));
  return values;
}

Index Teacher::bytes() const {
  Index all = 0;
  for (const auto& [name, w] : weights_) all += static_cast<Index>(w.values()->bytes().size());
  return all;
}

}  // namespace sten
