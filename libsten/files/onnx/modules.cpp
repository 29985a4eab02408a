// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/onnx/modules.h"

#include <algorithm>
#include <unordered_set>

#include "libsten/core/base/text.h"

namespace sten {
namespace {

constexpr std::string_view bias_end = ".bias";

// "encoder.0.query" of "/encoder/0/query/MatMul".
std::string of_node(std::string_view node) {
  while (node.starts_with('/')) node.remove_prefix(1);
  const std::size_t cut = node.rfind('/');
  if (cut == std::string_view::npos) return "";
  std::string module(node.substr(0, cut));
  std::ranges::replace(module, '/', '.');
  return module;
}

// "encoder.0.query" of "['', 'encoder', 'encoder.0', 'encoder.0.query', 'linear_3']", whose last
// part is not a module.
std::string of_scopes(std::string_view scopes) {
  std::string_view module, last;
  for (std::size_t at = scopes.find('\''); at < scopes.size(); at = scopes.find('\'', at)) {
    const std::size_t end = scopes.find('\'', ++at);
    if (end == std::string_view::npos) return "";
    module = last;
    last = scopes.substr(at, end - at);
    at = end + 1;
  }
  return std::string(module);
}

std::string of_bias(std::string_view bias) {
  return bias.ends_with(bias_end) ? std::string(bias.substr(0, bias.size() - bias_end.size())) : "";
}

}  // namespace

OnnxModules::OnnxModules(const OnnxGraph& graph, const OnnxNodes& nodes) {
  std::unordered_set<std::string_view> biases;
  for (const OnnxTensor& t : graph.initializers)
    if (t.name.ends_with(bias_end)) biases.insert(t.name);
  for (const OnnxNode* n : nodes.all) {
    if (!n->is_own() || n->op_type != "Add" || n->inputs.size() != 2) continue;
    for (const std::size_t i : {0, 1})
      if (biases.contains(n->inputs[i])) bias_of_.emplace(n->inputs[1 - i], n->inputs[i]);
  }
}

std::string OnnxModules::weight_of(const OnnxNode& layer) const {
  std::string module = of_node(layer.name);
  if (module.empty()) module = of_scopes(layer.module_scopes);
  if (module.empty() && layer.inputs.size() > 2) module = of_bias(layer.inputs[2]);
  const auto added = layer.outputs.empty() ? bias_of_.end() : bias_of_.find(layer.outputs[0]);
  if (module.empty() && added != bias_of_.end()) module = of_bias(added->second);
  return module.empty() || has_control_characters(module) ? "" : module + ".weight";
}

}  // namespace sten
