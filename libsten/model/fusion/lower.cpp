// Lowers the builder of an import to a graph.
#include <algorithm>
#include <map>
#include <set>

#include "libsten/model/fusion/graph_builder.h"

namespace sten {
namespace {

class Lowering {
 public:
  explicit Lowering(const GraphBuilder& builder)
      : builder_(builder), names_(builder.size()), is_needed_(builder.size()) {}

  Graph graph() {
    need_outputs();
    for (ValueRef v = 0; v < builder_.size(); ++v) {
      const BuilderValue& x = builder_[v];
      if (x.node || x.constant) continue;
      if (x.is_weight && !is_needed_[v]) continue;
      take(v, x.name);
      if (x.is_weight)
        add_weight(v);
      else
        parts_.inputs.push_back(names_[v]);
    }
    for (const GraphBuilder::Output& o : builder_.outputs()) {
      take(o.value, o.name);
      parts_.outputs.push_back(names_[o.value]);
    }
    for (ValueRef v = 0; v < builder_.size(); ++v) {
      if (!is_needed_[v] || !builder_[v].constant) continue;
      if (names_[v].empty()) take(v, builder_[v].name.empty() ? "constant" : builder_[v].name);
      parts_.constants.push_back({names_[v], *builder_[v].constant});
    }
    for (const std::size_t s : order_)
      if (names_[builder_.steps()[s].out].empty())
        take(builder_.steps()[s].out, builder_.steps()[s].name);
    for (const std::size_t s : order_) add_node(builder_.steps()[s]);
    return Graph(std::move(parts_));
  }

 private:
  // Finds the outputs and the nodes that they need, in the order of the file, which is executable.
  void need_outputs() {
    std::vector<ValueRef> open;
    for (const GraphBuilder::Output& o : builder_.outputs()) open.push_back(o.value);
    while (!open.empty()) {
      const ValueRef v = open.back();
      open.pop_back();
      if (is_needed_[v]) continue;
      is_needed_[v] = true;
      if (!builder_[v].node) continue;
      order_.push_back(*builder_[v].node);
      const BuilderNode& node = builder_.steps()[*builder_[v].node];
      open.insert(open.end(), node.in.begin(), node.in.end());
    }
    std::ranges::sort(order_);
  }

  void take(ValueRef v, const std::string& wanted) {
    std::string name = wanted;
    for (int& i = next_[wanted]; !taken_.insert(name).second;)
      name = fmt::format("{}.{}", wanted, i = std::max(i + 1, 2));
    names_[v] = std::move(name);
  }

  void add_weight(ValueRef v) {
    Weight w{names_[v], {}};
    all_known(*builder_[v].shape, w.shape);
    w.in_by_out = builder_[v].in_by_out;
    parts_.weights.push_back(std::move(w));
  }

  void add_node(const BuilderNode& node) {
    Node n{names_[node.out], node.op, {}, node.attributes};
    for (const ValueRef r : node.in) n.inputs.push_back(names_[r]);
    parts_.nodes.push_back(std::move(n));
  }

  const GraphBuilder& builder_;
  std::vector<std::string> names_;
  std::vector<bool> is_needed_;
  std::vector<std::size_t> order_;
  std::set<std::string, std::less<>> taken_;
  std::map<std::string, int> next_;  // next suffix of names in use
  GraphParts parts_;
};

}  // namespace

Graph lower(const GraphBuilder& builder) { return Lowering(builder).graph(); }

}  // namespace sten
