// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/onnx/import.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "libsten/core/base/text.h"
#include "libsten/files/onnx/weights.h"
#include "libsten/model/onnx/translate.h"

namespace sten {
namespace {

// Whether a tensor of rank 2 or more is a mask: 0 and 1, or numbers that softmax makes 0.
bool is_mask(const Dense& x) {
  bool has_zero = false, has_one = false, has_other = false;
  for (const float v : x.values.as<float>()) {
    if (!(v > -1e4F) || std::isinf(v)) return true;
    (v == 0 ? has_zero : v == 1 ? has_one : has_other) = true;
  }
  return has_zero && has_one && !has_other;
}

// The inputs of an operator that are trained at any size: the bias of a single output, the slope of
// all elements.
std::span<const std::size_t> trained_inputs(std::string_view op) {
  static constexpr std::size_t slope[]{1}, scale[]{1}, bias[]{2}, scale_and_bias[]{1, 2};
  if (op == "PRelu") return slope;
  if (op == "Gemm" || op == "Conv" || op == "ConvTranspose") return bias;
  if (op == "BatchNormalization" || op == "InstanceNormalization" || op == "GroupNormalization" ||
      op == "LayerNormalization")
    return scale_and_bias;
  if (op == "RMSNormalization" || op == "SimplifiedLayerNormalization") return scale;
  return {};
}

// Other single numbers, masks and integers are constants; all else is trained.
bool is_weight(const CheckpointTensor& t, const Checkpoint& file, bool is_for_training) {
  if (t.dtype != DType::F32 || t.shape.empty() || size_of(t.shape) == 0) return false;
  if (t.use != TensorUse::unknown && t.use != TensorUse::other) return true;
  if (size_of(t.shape) == 1) return is_for_training;
  if (t.shape.size() == 1) return true;
  return !is_mask(file.load(t).to_dense());
}

// A running statistic becomes a weight, so that files of weights have it, too.
bool is_running_statistic(const CheckpointTensor& t) {
  return t.dtype == DType::F32 && t.shape.size() == 1 && t.shape.front() > 0;
}

class Importer {
 public:
  Importer(const Checkpoint& file, const OnnxImportOptions& options)
      : file_(file),
        options_(options),
        model_(read_onnx_model(file.shards().front().file.bytes(), file.name())),
        builder_(file.file_bytes()) {
    for (const OnnxOpset& o : model_.opsets)
      if (o.domain.empty() || o.domain == "ai.onnx") opset_ = o.version;
    find_used_nodes();
    for (const OnnxNode& n : model_.graph.nodes)
      if (n.is_own() && n.op_type == "BatchNormalization")
        for (std::size_t i = 3; i < n.inputs.size(); ++i) statistics_.insert(n.inputs[i]);
    for (const OnnxNode& n : model_.graph.nodes)
      if (n.is_own())
        for (const std::size_t i : trained_inputs(n.op_type))
          if (i < n.inputs.size()) trained_.insert(n.inputs[i]);
    for (const OnnxNode& n : model_.graph.nodes)  // scales; cosines and sines
      if (n.is_own() &&
          (n.op_type == "Resize" || n.op_type == "Upsample" || n.op_type == "RotaryEmbedding"))
        for (std::size_t i = 1; i < n.inputs.size(); ++i) no_weights_.insert(n.inputs[i]);
  }

  OnnxImport run() {
    check_operators();
    add_initializers();
    add_inputs();
    for (const OnnxNode& n : model_.graph.nodes) add_node(n);
    std::vector<GraphPort> inputs, outputs;
    for (const OnnxValue* v : free_inputs_) inputs.push_back(port(*v));
    for (const OnnxValue& v : model_.graph.outputs) {
      outputs.push_back(port(v));
      const auto at = values_.find(v.name);
      if (at == values_.end())
        fail("output {} not found: expected the output of a node", quote(v.name));
      builder_.add_output(std::string(v.name), at->second);
      if (!outputs.back().dtype) outputs.back().dtype = builder_[at->second].dtype;
    }
    check_random_values();
    auto fused = fuse(builder_);
    Graph graph = lower(builder_);
    std::vector<std::string> not_weights;
    for (const CheckpointTensor& t : file_.tensors())
      if (!graph.find_weight(t.name)) not_weights.push_back(t.name);
    return {std::move(graph),       std::move(inputs), std::move(outputs),
            std::move(not_weights), std::move(fused),  std::move(training_.momenta),
            training_.is_exported};
  }

 private:
  // Unused nodes are dropped; without outputs, none is.
  void find_used_nodes() {
    std::vector<OnnxNode>& nodes = model_.graph.nodes;
    std::unordered_map<std::string_view, std::size_t> producers;
    for (std::size_t i = 0; i < nodes.size(); ++i)
      for (const std::string_view name : nodes[i].outputs) {
        produced_.insert(name);
        if (!name.empty() && !producers.emplace(name, i).second)
          fail("duplicate output {}", quote(name));
      }
    if (model_.graph.outputs.empty()) return;
    std::vector<bool> is_used(nodes.size());
    std::vector<std::string_view> open;
    for (const OnnxValue& v : model_.graph.outputs) open.push_back(v.name);
    while (!open.empty()) {
      const auto producer = producers.find(open.back());
      open.pop_back();
      if (producer == producers.end() || is_used[producer->second]) continue;
      is_used[producer->second] = true;
      const auto& inputs = nodes[producer->second].inputs;
      open.insert(open.end(), inputs.begin(), inputs.end());
    }
    std::size_t i = 0;
    std::erase_if(nodes, [&](const OnnxNode&) { return !is_used[i++]; });
  }

  // Reports all missing operators at once.
  void check_operators() const {
    std::map<std::string, Index> missing;
    for (const OnnxNode& n : model_.graph.nodes) {
      if (n.is_own() && onnx_translators().contains(n.op_type)) continue;
      ++missing[n.is_own() ? printable(n.op_type)
                           : printable(n.domain) + ":" + printable(n.op_type)];
    }
    if (missing.empty()) return;
    std::vector<std::string> all;
    for (const auto& [op, count] : missing)
      all.push_back(count == 1 ? op : fmt::format("{} ({} times)", op, count));
    fail("unsupported operator{} {}", all.size() == 1 ? "" : "s", fmt::join(all, ", "));
  }

  void add_initializers() {
    for (const OnnxTensor& t : model_.graph.initializers) {
      if (values_.contains(t.name)) fail("duplicate initializer {}", quote(t.name));
      if (const CheckpointTensor* c = file_.find(name_in_checkpoint(t.name)))
        values_[t.name] = add_tensor(*c, t.name);
      else
        unreadable_.insert(t.name);
    }
  }
  ValueRef add_tensor(const CheckpointTensor& t, std::string_view name) {
    const bool is_statistic = statistics_.contains(name);
    if (is_statistic ? is_running_statistic(t)
                     : !no_weights_.contains(name) && is_weight(t, file_, trained_.contains(name)))
      return builder_.add_weight({t.name, t.shape});
    Dense x = file_.load(t).to_dense();
    if (width_of(x.dtype()) == 0)
      fail("{}: unsupported data type {}", quote(t.name), name_of(x.dtype()));
    Dense own = Dense::zeros(x.dtype(), x.extents);  // detached from the file
    if (x.size() > 0) std::ranges::copy(x.values.bytes(), own.values.mutate_bytes());
    return builder_.add_constant(std::move(own), t.name);
  }

  void add_inputs() {
    for (const OnnxValue& v : model_.graph.inputs) {
      if (values_.contains(v.name) || unreadable_.contains(v.name)) continue;  // with a default
      if (produced_.contains(v.name))
        fail("{} is both an input and the output of a node", quote(v.name));
      values_[v.name] = builder_.add_input(port(v));
      free_inputs_.push_back(&v);
    }
  }

  GraphPort port(const OnnxValue& v) const {
    if (v.kind != OnnxKind::tensor && v.kind != OnnxKind::unknown)
      fail("{}: expected a tensor: sequences, maps and optional values are not supported",
           quote(v.name));
    GraphPort p{std::string(v.name), {}, {}};
    if (v.elem_type != 0) {
      try {
        p.dtype = onnx_dtype(v.elem_type);
      } catch (const Error& e) {
        fail("{}: {}", quote(v.name), e.what());
      }
    }
    if (!v.shape) return p;
    p.shape.emplace();
    for (const OnnxDimension& d : *v.shape) {
      const bool is_known = d.size && *d.size >= 0;
      // PaddlePaddle names all unknown extents "?".
      p.shape->push_back({is_known ? std::optional<Index>(*d.size) : std::nullopt,
                          std::string(d.symbol == "?" ? "" : d.symbol)});
    }
    return p;
  }

  void add_node(const OnnxNode& n) {
    const std::string name = quote(n.name.empty() && !n.outputs.empty() ? n.outputs[0] : n.name);
    if (n.outputs.empty() || n.outputs[0].empty()) {
      if (std::ranges::all_of(n.outputs, [](auto o) { return o.empty(); })) return;
    }
    std::vector<std::optional<ValueRef>> in;
    for (const std::string_view input : n.inputs) {
      const auto at = values_.find(input);
      if (!input.empty() && at == values_.end()) no_value(name, input);
      in.push_back(input.empty() ? std::nullopt : std::optional(at->second));
    }
    while (!in.empty() && !in.back()) in.pop_back();
    const OnnxSchema& schema = *find_onnx_schema(n.op_type);
    OnnxCall call(n, schema, builder_, std::move(in), opset_, training_);
    try {
      check_onnx_node(n, schema);
      translate(call);
    } catch (const Error& e) {
      fail("node {} ({}): {}", name, printable(n.op_type), e.what());
    }
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      if (n.outputs[i].empty()) continue;
      if (!call.results()[i])
        fail("node {} ({}): unsupported output {}", name, printable(n.op_type), i);
      if (!values_.emplace(n.outputs[i], *call.results()[i]).second)
        fail("{} is both an initializer and the output of a node", quote(n.outputs[i]));
    }
  }
  void translate(OnnxCall& call) {
    // The tensor of a weight in a Constant node is in the checkpoint.
    if (call.node.op_type == "Constant" && !call.node.outputs.empty())
      if (const CheckpointTensor* t = file_.find(name_in_checkpoint(call.node.outputs[0])))
        return call.set(0, add_tensor(*t, call.node.outputs[0]));
    onnx_translators().find(call.node.op_type)->second(call);
    call.check_attributes();
  }
  [[noreturn]] void no_value(const std::string& node, std::string_view input) const {
    if (unreadable_.contains(input))
      fail("node {}: unsupported data type of input {}", node, quote(input));
    if (produced_.contains(input))
      fail("node {}: input {} is an output of a later node: expected topological order", node,
           quote(input));
    fail("node {}: unknown input {} (expected an input of the graph or an output of a node)", node,
         quote(input));
  }

  void check_random_values() const {
    const std::vector<Index> uses = builder_.uses();
    for (const auto& [value, random] : training_.random)
      if (uses[value] > 0)
        fail("random numbers {}: only stochastic depth may use them, as in x * (random < p) / p",
             quote(random.name));
  }

  const Checkpoint& file_;
  const OnnxImportOptions& options_;
  OnnxTraining training_{options_.mode};
  OnnxModel model_;
  std::int64_t opset_ = 1;
  GraphBuilder builder_;
  std::unordered_map<std::string_view, ValueRef> values_;
  std::unordered_set<std::string_view> produced_, unreadable_;
  std::unordered_set<std::string_view> trained_;     // inputs with this name
  std::unordered_set<std::string_view> statistics_;  // running means and variances
  std::unordered_set<std::string_view> no_weights_;  // scales, cosines and sines
  std::vector<const OnnxValue*> free_inputs_;
};

}  // namespace

OnnxImport import_onnx(const Checkpoint& file, const OnnxImportOptions& options) {
  if (!file.is_onnx()) fail("{}: not an ONNX model", file.name());
  try {
    return Importer(file, options).run();
  } catch (const Unsupported&) {
    throw;
  } catch (const Error& e) {
    fail("{}: {}", file.name(), e.what());
  }
}

}  // namespace sten
