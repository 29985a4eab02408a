// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/onnx/output_heads.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "libsten/core/base/error.h"

namespace sten {
namespace {

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

void add_nodes(const OnnxGraph& graph, const WireFile& file, int depth, OnnxNodes& out);

// Adds nodes without an operator that connect each value of `from` to the value at its position in
// `to`.
void concat_texts(const std::vector<std::string_view>& from, std::size_t from_begin,
                  const std::vector<std::string_view>& to, std::size_t to_begin, std::size_t most,
                  OnnxNodes& out) {
  for (std::size_t k = 0; k < most && from_begin + k < from.size() && to_begin + k < to.size();
       ++k) {
    OnnxNode& joint = out.joints.emplace_back();
    joint.inputs = {from[from_begin + k]};
    joint.outputs = {to[to_begin + k]};
    out.all.push_back(&joint);
  }
}

std::vector<std::string_view> names(const std::vector<OnnxValue>& values) {
  std::vector<std::string_view> all;
  for (const OnnxValue& v : values) all.push_back(v.name);
  return all;
}

// Adds a node and its subgraphs. The node also reads values of its graph by name.
void add_with_subgraphs(const OnnxNode& n, const WireFile& file, int depth, OnnxNodes& out) {
  constexpr std::size_t any = -1;
  const bool is_loop = n.is_own() && n.op_type == "Loop",
             is_scan = n.is_own() && n.op_type == "Scan";
  if (!is_loop && !is_scan && !(n.is_own() && n.op_type == "If")) out.all.push_back(&n);
  for (const OnnxAttribute& a : n.attributes)
    for (const ByteRange bytes : a.graphs) {
      const OnnxGraph& body = out.subgraphs.emplace_back(read_onnx_graph(bytes, file));
      add_nodes(body, file, depth + 1, out);
      const std::vector<std::string_view> made = names(body.outputs), taken = names(body.inputs);
      // The inputs of a loop start with its trip count and condition.
      concat_texts(made, is_loop, n.outputs, 0, any, out);
      if (is_loop)
        concat_texts(n.inputs, 2, taken, 2, any, out), concat_texts(made, 1, taken, 2, any, out);
      if (!is_scan) continue;
      const OnnxAttribute* scanned = n.find("num_scan_inputs");
      const auto states =
          static_cast<std::int64_t>(n.inputs.size()) - (scanned ? scanned->integer : 0);
      concat_texts(n.inputs, 0, taken, 0, any, out);
      concat_texts(made, 0, taken, 0, static_cast<std::size_t>(std::max<std::int64_t>(states, 0)),
                   out);
    }
}

void add_nodes(const OnnxGraph& graph, const WireFile& file, int depth, OnnxNodes& out) {
  constexpr int deepest = 16;
  for (const OnnxNode& n : graph.nodes) {
    const auto graph_of = std::ranges::find_if(
        n.attributes, [](const OnnxAttribute& a) { return !a.graphs.empty(); });
    if (graph_of == n.attributes.end()) {
      out.all.push_back(&n);
      continue;
    }
    if (depth == deepest)
      file.broken(graph_of->graphs.front().data(),
                  fmt::format("subgraphs are nested more than {} deep", deepest));
    add_with_subgraphs(n, file, depth, out);
  }
}

// Whether input `i` has data of the outputs, instead of indices or extents.
bool is_data(const OnnxNode& n, std::size_t i) {
  if (!n.is_own()) return true;
  const std::string_view op = n.op_type;
  if (is_one_of(op, {"Shape",       "Size",
                     "NonZero",     "ArgMax",
                     "ArgMin",      "NonMaxSuppression",
                     "Range",       "ConstantOfShape",
                     "EyeLike",     "OneHot",
                     "Equal",       "Greater",
                     "Less",        "GreaterOrEqual",
                     "LessOrEqual", "And",
                     "Or",          "Xor",
                     "Not",         "IsNaN",
                     "IsInf"}))
    return false;
  if (is_one_of(op, {"Gather", "GatherElements", "GatherND", "RoiAlign", "MaxRoiPool", "GridSample",
                     "Resize", "Upsample", "Slice", "Reshape", "Expand", "TopK", "Tile", "Pad",
                     "Squeeze", "Unsqueeze", "Split", "Compress"}))
    return i == 0;
  if (is_one_of(op, {"ScatterElements", "ScatterND", "Scatter"})) return i != 1;
  if (op == "Where") return i != 0;
  return true;
}

class Flow {
 public:
  Flow(const OnnxGraph& graph, const OnnxNodes& nodes, const std::vector<std::string_view>& fixed)
      : graph_(graph), nodes_(nodes.all), fixed_(fixed.begin(), fixed.end()) {
    for (const OnnxTensor& t : graph.initializers)
      if (t.dims.size() >= 2) matrices_.insert(t.name);
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      for (std::size_t i = 0; i < nodes_[k]->inputs.size(); ++i)
        if (is_data(*nodes_[k], i)) takers_[nodes_[k]->inputs[i]].push_back(k);
      for (const std::string_view v : nodes_[k]->outputs)
        if (!v.empty()) producers_[v].push_back(k);
    }
  }

  std::vector<bool> heads() const {
    std::vector<std::size_t> products, sums;
    for (std::size_t k = 0; k < nodes_.size(); ++k)
      if (is_product(*nodes_[k])) products.push_back(k);
    Values feeding = before(products, is_data);
    const Values made = after(products);
    for (std::size_t k = 0; k < nodes_.size(); ++k)
      if (is_sum(*nodes_[k]) && std::ranges::any_of(nodes_[k]->inputs, [&](std::string_view v) {
            return feeding.contains(v) && made.contains(v);
          }))
        sums.push_back(k);
    feeding.merge(before(sums, is_data));
    const Values shown = before_outputs();
    std::vector<bool> heads(nodes_.size());
    for (const std::size_t k : products)
      heads[k] = std::ranges::any_of(nodes_[k]->outputs,
                                     [&](std::string_view v) { return shown.contains(v); }) &&
                 std::ranges::none_of(nodes_[k]->outputs,
                                      [&](std::string_view v) { return feeding.contains(v); });
    return heads;
  }

 private:
  using Values = std::unordered_set<std::string_view>;

  bool is_product(const OnnxNode& n) const {
    if (n.inputs.size() > 1 && fixed_.contains(n.inputs[1])) return false;
    if (!n.is_own())
      return std::ranges::any_of(n.inputs,
                                 [&](std::string_view v) { return matrices_.contains(v); });
    return multiplies(n) ||
           is_one_of(n.op_type, {"Einsum", "RNN", "GRU", "LSTM", "Attention", "DeformConv",
                                 "MatMulInteger", "ConvInteger", "QLinearMatMul", "QLinearConv"});
  }

  static bool is_sum(const OnnxNode& n) {
    return n.inputs.size() > 1 && (!n.is_own() || n.op_type == "Add" || n.op_type == "Sum");
  }

  // The values that these nodes are computed from, by the inputs for which `counts` is true.
  template <class Counts>
  Values before(std::vector<std::size_t> open, const Counts& counts) const {
    std::vector<bool> seen(nodes_.size());
    Values found;
    const auto add_constants = [&](std::string_view v) {
      if (v.empty() || !found.insert(v).second) return;
      if (const auto at = producers_.find(v); at != producers_.end())
        open.insert(open.end(), at->second.begin(), at->second.end());
    };
    while (!open.empty()) {
      const std::size_t k = open.back();
      open.pop_back();
      if (seen[k]) continue;
      seen[k] = true;
      for (std::size_t i = 0; i < nodes_[k]->inputs.size(); ++i)
        if (counts(*nodes_[k], i)) add_constants(nodes_[k]->inputs[i]);
    }
    return found;
  }

  Values before_outputs() const {
    std::vector<std::size_t> last;
    Values outputs;
    for (const OnnxValue& v : graph_.outputs) {
      outputs.insert(v.name);
      if (const auto at = producers_.find(v.name); at != producers_.end())
        last.insert(last.end(), at->second.begin(), at->second.end());
    }
    Values found = before(std::move(last), [](const OnnxNode&, std::size_t) { return true; });
    found.merge(outputs);
    return found;
  }

  // The values that are computed from the results of these nodes.
  Values after(std::vector<std::size_t> open) const {
    std::vector<bool> seen(nodes_.size());
    Values found;
    while (!open.empty()) {
      const std::size_t k = open.back();
      open.pop_back();
      if (seen[k]) continue;
      seen[k] = true;
      for (const std::string_view v : nodes_[k]->outputs) {
        if (v.empty() || !found.insert(v).second) continue;
        if (const auto at = takers_.find(v); at != takers_.end())
          open.insert(open.end(), at->second.begin(), at->second.end());
      }
    }
    return found;
  }

  const OnnxGraph& graph_;
  const std::vector<const OnnxNode*>& nodes_;
  Values fixed_, matrices_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> takers_, producers_;
};

}  // namespace

OnnxNodes all_nodes(const OnnxGraph& graph, const WireFile& file) {
  OnnxNodes nodes;
  add_nodes(graph, file, 0, nodes);
  return nodes;
}

bool multiplies(const OnnxNode& n) {
  return n.is_own() && is_one_of(n.op_type, {"MatMul", "Gemm", "Conv", "ConvTranspose"});
}

std::vector<bool> output_heads(const OnnxGraph& graph, const OnnxNodes& nodes,
                               const std::vector<std::string_view>& fixed) {
  return Flow(graph, nodes, fixed).heads();
}

}  // namespace sten
