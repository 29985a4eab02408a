// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/model_precision.h"

#include "libsten/core/base/hints.h"
#include "libsten/core/base/text.h"
#include "libsten/programs/rewrite/selection.h"

namespace sten {
namespace {

Precision precision_named(const std::string& text) {
  for (const Precision p : {Precision::float32, Precision::bf16})
    if (text == name_of(p)) return p;
  fail_usage(
      "--precision: {}",
      unknown_name("precision", text, {"bf16", "float32", "PATTERN=bf16", "PATTERN=float32"}));
}

}  // namespace

std::vector<PrecisionRule> read_precision(const std::vector<std::string>& rules, const Graph& g,
                                          const std::string& model) {
  std::vector<std::string> names;
  for (const Node& n : g.nodes()) names.push_back(n.name);
  const TensorNames known(names, model, "nodes");
  std::vector<PrecisionRule> all;
  for (const std::string& text : rules) {
    const std::size_t at = text.rfind('=');
    if (at == std::string::npos) {
      all.push_back({"*", precision_named(text)});
      continue;
    }
    const Precision precision = precision_named(text.substr(at + 1));
    for (const std::string& pattern : pattern_list(text.substr(0, at))) {
      known.for_each_match(pattern, "--precision", [](std::size_t) {});
      all.push_back({pattern, precision});
    }
  }
  return all;
}

void add_precision_facts(const std::vector<std::string>& rules, Report& r) {
  if (!rules.empty()) r.facts.emplace_back("precision", fmt::format("{}", fmt::join(rules, ", ")));
}

}  // namespace sten
