// SPDX-License-Identifier: Apache-2.0
// Lowers a builder to a graph.
#include <algorithm>
#include <map>
#include <set>

#include "libsten/model/fusion/graph_builder.h"

namespace sten {
namespace {

class Lowering {
 public:
  explicit Lowering(const GraphBuilder& builder)
      : builder_(builder), names_(builder.size()), uses_(builder.uses()) {}

  Graph graph() {
    for (ValueRef v = 0; v < builder_.size(); ++v) {
      const BuilderValue& x = builder_[v];
      if (x.node || x.constant) continue;
      if ((x.weight || x.name.empty()) && uses_[v] == 0) continue;
      take(v, x.name);
      if (x.weight)
        add_weight(v);
      else
        parts_.inputs.push_back(names_[v]);
    }
    for (const GraphBuilder::Output& o : builder_.outputs()) {
      take(o.value, o.name);
      parts_.outputs.push_back(names_[o.value]);
    }
    for (ValueRef v = 0; v < builder_.size(); ++v) {
      if (uses_[v] == 0 || !builder_[v].constant) continue;
      if (names_[v].empty()) take(v, builder_[v].name.empty() ? "constant" : builder_[v].name);
      parts_.constants.push_back({names_[v], *builder_[v].constant});
    }
    for (const BuilderNode& s : builder_.steps())
      if (uses_[s.out] > 0 && names_[s.out].empty()) take(s.out, s.name);
    for (const BuilderNode& s : builder_.steps())
      if (uses_[s.out] > 0) add_node(s);
    return Graph(std::move(parts_));
  }

 private:
  void take(ValueRef v, const std::string& wanted) {
    std::string name = wanted;
    for (int& i = next_[wanted]; !taken_.insert(name).second;)
      name = fmt::format("{}.{}", wanted, i = std::max(i + 1, 2));
    names_[v] = std::move(name);
  }

  void add_weight(ValueRef v) {
    Weight w = *builder_[v].weight;
    w.name = names_[v];
    parts_.weights.push_back(std::move(w));
  }

  void add_node(const BuilderNode& node) {
    Node n{names_[node.out], node.op, {}, node.attributes, node.formats};
    for (const ValueRef r : node.in) n.inputs.push_back(names_[r]);
    parts_.nodes.push_back(std::move(n));
  }

  const GraphBuilder& builder_;
  std::vector<std::string> names_;
  std::vector<Index> uses_;
  std::set<std::string, std::less<>> taken_;
  std::map<std::string, int> next_;  // next suffix of names in use
  GraphParts parts_;
};

}  // namespace

Graph lower(const GraphBuilder& builder) { return Lowering(builder).graph(); }

}  // namespace sten
