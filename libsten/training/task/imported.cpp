// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/task/imported.h"

#include <algorithm>
#include <span>

#include "libsten/core/base/log.h"
#include "libsten/core/base/name_list.h"
#include "libsten/core/base/text.h"
#include "libsten/files/system/data_file.h"
#include "libsten/model/graph/dropout.h"
#include "libsten/model/graph/graph_json.h"
#include "libsten/model/graph/inference.h"

namespace sten {
namespace {

const GraphPort& output_of(const std::vector<GraphPort>& outputs, const std::string& name,
                           const std::string& file) {
  if (outputs.empty()) fail("{}: the model has no output", file);
  if (name.empty()) return outputs.front();
  std::vector<std::string> names;
  for (const GraphPort& o : outputs) {
    if (o.name == name) return o;
    names.push_back(o.name);
  }
  fail_usage("model.output: unknown output {} of {}{} (expected one of {})", quote(name), file,
             suggestion(name, names), name_list(names));
}

// Whether a [n, m] is the transpose of b [m, n]; both are F32.
bool is_transposed_copy(const Dense& a, const Dense& b) {
  const auto x = a.values.as<std::uint32_t>(), y = b.values.as<std::uint32_t>();
  const Index n = a.extents[0], m = a.extents[1];
  for (Index i = 0; i < n; ++i)
    for (Index k = 0; k < m; ++k)
      if (x[i * m + k] != y[k * n + i]) return false;
  return true;
}

// Exporters with constant folding replace a shared matrix by a copy.
void warn_of_copies(const Graph& g, const Checkpoint& file) {
  const auto load = [&](const CheckpointTensor& t) { return file.load(t).to_dense(); };
  for (const Weight& w : g.weights()) {
    const CheckpointTensor* transposed = w.in_by_out ? file.find(w.name) : nullptr;
    if (!transposed) continue;
    for (const Weight& v : g.weights()) {
      const CheckpointTensor* t = v.in_by_out || v.shape != w.shape ? nullptr : file.find(v.name);
      if (t && t->dtype == DType::F32 && transposed->dtype == DType::F32 &&
          is_transposed_copy(load(*transposed), load(*t)))
        warn(
            "{}: {} is a copy of {}, and both are trained separately (export with "
            "do_constant_folding=False to share the weight)",
            file.name(), quote(w.name), quote(v.name));
    }
  }
}

// The graph with a loss of the logits.
Graph with_loss(GraphParts g, const Graph& before, const std::string& logits) {
  const std::string loss = new_name("loss", before), labels = new_name("labels", before);
  g.inputs.push_back(labels);
  g.nodes.push_back({loss, "cross-entropy", {logits, labels}});
  g.outputs = {logits, loss};
  return Graph(std::move(g));
}

bool trains_batch_norms(const ModelRecipe& m, const OnnxImport& model) {
  return m.batch_norm.empty() ? model.is_for_training : m.batch_norm == "train";
}

std::shared_ptr<const ImportedModel> read_graph(const ModelRecipe& m) {
  const std::string name = printable(m.file);
  const MappedFile text = open_data(m.file);
  const Graph graph = [&] {
    try {
      return parse_graph(sten::text_of(text.bytes()));
    } catch (const Error& e) {
      throw Error(Fault::input, fmt::format("{}: {}", name, e.what()));
    }
  }();
  const auto port = [](const std::string& of) { return GraphPort{of, std::nullopt, std::nullopt}; };
  std::vector<GraphPort> outputs, inputs;
  for (const std::string& output : graph.outputs()) outputs.push_back(port(output));
  const GraphPort logits = output_of(outputs, m.output, name);
  GraphParts g = graph.parts();
  prune_to_outputs(g, {logits.name});
  for (const std::string& input : g.inputs)
    if (input != draw_input) inputs.push_back(port(input));
  return std::make_shared<const ImportedModel>(
      ImportedModel{name,
                    std::nullopt,
                    {},
                    with_loss(std::move(g), graph, logits.name),
                    std::move(inputs),
                    logits,
                    false});
}

}  // namespace

std::optional<Index> ImportedModel::classes() const {
  if (logits.shape && !logits.shape->empty() && logits.shape->back().size)
    return logits.shape->back().size;
  // By default, the number of outputs of the last layer.
  const Node* last = graph.find_node(logits.name);
  const Weight* w =
      last && last->op == Name("linear") ? graph.find_weight(last->inputs[1]) : nullptr;
  return w ? std::optional(w->shape[0]) : std::nullopt;
}

std::optional<Index> ImportedModel::features() const {
  if (inputs.size() != 1) return std::nullopt;
  const GraphPort& in = inputs.front();
  if (in.shape && in.shape->size() > 1) {
    Index n = 1;
    for (const GraphPort::Extent& e : std::span(*in.shape).subspan(1)) n *= e.size.value_or(0);
    if (n > 0) return n;
  }
  // By default, the number of inputs of the first layer.
  for (const Node& n : graph.nodes())
    if (n.op == Name("linear") && n.inputs[0] == in.name)
      if (const Weight* w = graph.find_weight(n.inputs[1])) return w->shape[1];
  return std::nullopt;
}

std::shared_ptr<const ImportedModel> read_imported(const ModelRecipe& m, bool only_measures,
                                                   const Checkpoint* opened) {
  if (m.kind == "graph") return read_graph(m);
  Checkpoint file = opened ? *opened : Checkpoint::open(m.file);
  OnnxImport model =
      import_onnx(file, {.mode = only_measures ? OnnxMode::evaluation : OnnxMode::training});
  const GraphPort logits = output_of(model.outputs, m.output, file.name());
  if (logits.dtype && *logits.dtype != DType::F32)
    fail("{}: output {} is {}, but logits must be F32 (see model.output)", file.name(),
         quote(logits.name), name_of(*logits.dtype));
  warn_of_copies(model.graph, file);
  GraphParts g = model.graph.parts();
  prune_to_outputs(g, {logits.name});
  if (!only_measures && trains_batch_norms(m, model)) {
    try {
      g = train_batch_norms(Graph(std::move(g)), model.momenta).parts();
    } catch (const Error& e) {
      throw Error(e.fault(), fmt::format("{}: model.batch_norm train: {}", file.name(), e.what()));
    }
    if (g.statistics.empty() && m.batch_norm == "train")
      fail_usage("{}: model.batch_norm train: the model has no batch norms", file.name());
  }
  std::erase_if(model.inputs,
                [&](const GraphPort& p) { return std::ranges::count(g.inputs, p.name) == 0; });
  const std::string name = file.name();
  return std::make_shared<const ImportedModel>(ImportedModel{
      name, std::move(file), std::move(model.not_weights),
      with_loss(std::move(g), model.graph, logits.name), std::move(model.inputs), logits});
}

NamedValues<Tensor> load_imported(const Graph& g, const Checkpoint& file, const Checkpoint* model,
                                  std::vector<std::string> not_weights, LowWeights low) {
  for (const CheckpointTensor& t : file.tensors())
    if (!is_prunable(t.dtype) && !g.find_weight(t.name)) not_weights.push_back(t.name);
  std::vector<std::string> lacked;
  if (model)
    for (const Weight& w : g.weights())
      if (g.is_statistic(w.name) && weight_entries(w, file).empty()) lacked.push_back(w.name);
  NamedValues<Tensor> weights = load_weights(g, file, not_weights, lacked, low);
  if (lacked.empty()) return weights;
  warn("{}: missing running statistics, such as {}: taken from {}", file.name(),
       quote(lacked.front()), model->name());
  for (const std::string& name : lacked) weights.emplace(name, model->load(*model->find(name)));
  return weights;
}

void check_open_batch(const GraphPort& input, const std::string& file) {
  if (input.shape && !input.shape->empty() && input.shape->front().size)
    fail("{}: input {} has the fixed batch size {} (export with dynamic_axes or dynamic_shapes)",
         file, quote(input.name), *input.shape->front().size);
}

}  // namespace sten
