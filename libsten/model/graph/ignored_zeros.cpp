// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/graph/ignored_zeros.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "libsten/model/graph/nonzeros.h"

namespace sten {
namespace {

// Other operators look rows up, or use each element once.
bool is_product(Name op) {
  for (const char* name : {"linear", "conv", "conv-relu", "conv-transpose", "matmul", "einsum"})
    if (op == Name(name)) return true;
  return false;
}

bool is_dense(Name layout) { return layout == Name("dense") || layout == Name("masked"); }

// Whether the operator also multiplies zeros.
bool ignores(const Graph& g, const NamedValues<Tensor>& values, const Node& n,
             const std::string& weight, const Spec& layout) {
  const auto plan = plan_with_weight(g, values, n, weight, layout);
  if (!plan) return true;
  for (std::size_t i = 0; i < n.inputs.size(); ++i)
    if (n.inputs[i] == weight && !is_dense(plan->in[i])) return false;
  return true;
}

}  // namespace

std::shared_ptr<const Plan> plan_with_weight(const Graph& g, const NamedValues<Tensor>& values,
                                             const Node& n, const std::string& weight,
                                             const Spec& layout) {
  const bool in_groups = n.attributes.has("groups") && n.attributes.integer("groups", 1) > 1;
  if (in_groups && !is_dense(Name(layout.name()))) return nullptr;
  Signature s{n.op, {}, {}};
  for (const std::string& name : n.inputs) {
    const auto at = values.find(name);
    const Node* from = g.find_node(name);
    s.in.emplace_back(name == weight       ? std::string_view(layout.name())
                      : at != values.end() ? at->second.layout()
                      : from               ? std::string_view(from->formats.out.layout.name())
                                           : std::string_view("dense"));
  }
  s.out = {{n.formats.out.inline_by, n.formats.out.tmp.name()}};
  return operators().plan(s);
}

std::vector<IgnoredZeros> ignored_zeros(const Graph& g, const NamedValues<Tensor>& values,
                                        Index* sparse) {
  std::vector<IgnoredZeros> all;
  if (sparse) *sparse = 0;
  for (const Weight& w : g.weights()) {
    const auto at = values.find(w.name);
    if (at == values.end() || w.shape.size() < 2) continue;
    const Tensor& t = at->second;
    if (t.dtype() != DType::F32 && t.dtype() != DType::BF16) continue;
    std::vector<const Node*> products;
    for (const Node& n : g.nodes())
      if (is_product(n.op) && std::ranges::count(n.inputs, w.name) > 0) products.push_back(&n);
    if (products.empty() || size_of(w.shape) == 0) continue;
    if (is_dense(Name(t.layout())) && share_of_nonzeros(t) > most_nonzeros) continue;
    if (sparse) ++*sparse;
    const auto first = std::ranges::find_if(
        products, [&](const Node* n) { return ignores(g, values, *n, w.name, t.spec()); });
    if (first != products.end())
      all.push_back({w.name, t.spec().str(), std::string((*first)->op.text())});
  }
  return all;
}

std::string describe(const std::vector<IgnoredZeros>& ignored, Index sparse) {
  if (ignored.empty()) return "";
  std::set<std::string> ops;
  std::map<std::string, Index> layouts;
  for (const IgnoredZeros& i : ignored) {
    ops.insert(i.op);
    ++layouts[i.layout];
  }
  std::vector<std::string> counts;
  for (const auto& [layout, n] : layouts) counts.push_back(fmt::format("{} in {}", n, layout));
  return fmt::format("{} ignore{} the zeros of {} of {} sparse weights ({})", fmt::join(ops, ", "),
                     ops.size() == 1 ? "s" : "", ignored.size(), sparse, fmt::join(counts, ", "));
}

}  // namespace sten
