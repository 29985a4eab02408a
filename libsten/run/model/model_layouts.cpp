#include "libsten/run/model/model_layouts.h"

#include <algorithm>
#include <map>

#include "libsten/base/text.h"
#include "libsten/dispatch/route.h"
#include "libsten/graph/fastest_layouts.h"
#include "libsten/run/rules.h"
#include "libsten/run/selection.h"

namespace sten {
namespace {

std::string counted(const NamedValues<Tensor>& weights) {
  std::map<std::string, Index> counts;
  for (const auto& [name, w] : weights)
    if (w.shape().size() >= 2) ++counts[w.spec().str()];
  std::string text;
  for (const auto& [layout, n] : counts)
    text += fmt::format("{}{} in {}", text.empty() ? "" : ", ", n, layout);
  return text;
}

void choose_fastest(const NamedValues<Tensor>& inputs, RunnableModel& m) {
  NamedValues<Tensor> values = m.weights;
  values.insert(inputs.begin(), inputs.end());
  for (const Constant& c : m.graph.constants()) values.emplace(c.name, c.value);
  std::vector<std::string> names;
  for (const auto& [name, w] : m.weights) names.push_back(name);
  m.weights = in_fastest_layouts(m.graph, values, names);
}

}  // namespace

std::vector<std::string> set_layouts(const std::vector<std::string>& rules,
                                     const NamedValues<Tensor>& inputs, RunnableModel& m) {
  std::vector<std::string> names;
  for (const auto& [name, w] : m.weights) names.push_back(name);
  const TensorNames known(names, m.name);
  std::vector<bool> is_set(names.size());
  bool is_auto = false;
  for (const std::string& text : rules) {
    if (text == "auto") {
      is_auto = true;
      continue;
    }
    for (const Rule& rule : split_rule(parse_rule(text, "--layouts")))
      known.for_each_match(rule.pattern, "--layouts", [&](std::size_t i) {
        Tensor& w = m.weights.at(names[i]);
        // Norms and biases that a glob matches besides.
        if (is_set[i] || (w.shape().size() < 2 && names[i] != rule.pattern)) return;
        is_set[i] = true;
        try {
          w = convert(w, rule.spec);
        } catch (const Error& e) {
          fail_usage("--layouts: {}: {}", quote(names[i]), e.what());
        }
      });
  }
  if (is_auto) choose_fastest(inputs, m);
  return {"weights: " + counted(m.weights)};
}

}  // namespace sten
