#include "libsten/training/trainer/model_walk.h"

#include <algorithm>
#include <set>

#include "libsten/compute/calibrate/sums.h"
#include "libsten/core/base/error.h"

namespace sten {
namespace {

// A value of the graph in each batch. Before the first pruned layer, both models share `dense`.
struct Flow {
  std::vector<Tensor> dense, pruned;
  bool has_pruned() const { return !pruned.empty(); }
  const std::vector<Tensor>& seen() const { return has_pruned() ? pruned : dense; }
};

class Walk {
 public:
  Walk(const Graph& graph, const NamedValues<Tensor>& weights,
       const std::vector<NamedValues<Tensor>>& batches)
      : graph_(graph), dense_(weights) {
    for (const std::string& name : graph.inputs())
      for (const NamedValues<Tensor>& batch : batches) flows_[name].dense.push_back(batch.at(name));
    batches_ = batches.size();
    for (std::size_t i = 0; i < graph.nodes().size(); ++i)
      for (const std::string& name : graph.nodes()[i].inputs) last_use_[name] = i;
  }

  WalkResult run(const std::function<bool(const std::string&)>& is_wanted, bool needs_gram,
                 const PruneWeight& prune) {
    std::set<std::string> done;
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& n = graph_.nodes()[i];
      if (n.op == Name("linear") && flows_.contains(n.inputs[0]) &&
          graph_.find_weight(n.inputs[1]) && is_wanted(n.inputs[1]) &&
          done.insert(n.inputs[1]).second) {
        collect(n.inputs[0], needs_gram);
        statistics_.target_squares.reset();
        if (target_.size() > 0)
          statistics_.target_squares = squares_of_outputs(dense_.at(n.inputs[1]), target_);
        pruned_.insert_or_assign(n.inputs[1], prune(n.inputs[1], statistics_));
      }
      compute(n);
      count();
      release(i);
    }
    return result_;
  }

 private:
  // Collects statistics of the value, unless present.
  void collect(const std::string& name, bool needs_gram) {
    if (name == collected_) return;
    collected_ = name;
    const Flow& flow = flows_.at(name);
    InputSums sums(needs_gram, flow.has_pruned());
    for (std::size_t b = 0; b < batches_; ++b)
      sums.add(flow.seen()[b].to_dense(), flow.has_pruned() ? flow.dense[b].to_dense() : Dense());
    statistics_ = sums.statistics();
    target_ = sums.target_gram();
    if (result_.positions == 0) result_.positions = statistics_.samples;
  }

  void compute(const Node& n) {
    const bool differs = std::ranges::any_of(n.inputs, [&](const std::string& name) {
      return pruned_.contains(name) || (flows_.contains(name) && flows_.at(name).has_pruned());
    });
    GraphParts parts;
    NamedValues<Tensor> dense, pruned;
    std::vector<std::string> values;
    for (const std::string& name : n.inputs) {
      if (const Weight* w = graph_.find_weight(name)) {
        if (!dense.emplace(name, dense_.at(name)).second) continue;
        parts.weights.push_back(*w);
        const auto it = pruned_.find(name);
        pruned.emplace(name, it == pruned_.end() ? dense_.at(name) : it->second);
      } else if (flows_.contains(name)) {
        if (std::ranges::find(values, name) == values.end()) values.push_back(name);
      } else if (const auto c = std::ranges::find(graph_.constants(), name, &Constant::name);
                 std::ranges::find(parts.constants, name, &Constant::name) ==
                 parts.constants.end()) {
        parts.constants.push_back(*c);
      }
    }
    parts.inputs = values;
    parts.nodes = {n};
    parts.outputs = {n.name};
    const Graph one(std::move(parts));
    const auto run = [&](const NamedValues<Tensor>& weights, bool as_pruned) {
      std::vector<Tensor> out;
      for (std::size_t b = 0; b < batches_; ++b) {
        NamedValues<Tensor> in;
        for (const std::string& name : values) {
          const Flow& flow = flows_.at(name);
          in.emplace(name, (as_pruned ? flow.seen() : flow.dense)[b]);
        }
        out.push_back(one.run(weights, in).at(n.name));
      }
      return out;
    };
    Flow& flow = flows_[n.name];
    flow.dense = run(dense, false);
    if (differs) flow.pruned = run(pruned, true);
  }

  void release(std::size_t i) {
    std::erase_if(flows_, [&](const auto& flow) {
      const auto last = last_use_.find(flow.first);
      return last == last_use_.end() || last->second <= i;
    });
  }

  void count() {
    Index bytes =
        static_cast<Index>(statistics_.gram.size() + statistics_.cross.size() + target_.size()) *
        static_cast<Index>(sizeof(float));
    for (const auto& [name, flow] : flows_)
      for (const auto* each : {&flow.dense, &flow.pruned})
        for (const Tensor& t : *each) bytes += static_cast<Index>(t.bytes());
    result_.most_bytes = std::max(result_.most_bytes, bytes);
  }

  const Graph& graph_;
  const NamedValues<Tensor>& dense_;
  NamedValues<Tensor> pruned_;
  std::map<std::string, Flow, std::less<>> flows_;
  std::map<std::string, std::size_t, std::less<>> last_use_;
  std::size_t batches_ = 0;
  std::string collected_;  // value of the statistics
  InputStatistics statistics_;
  Dense target_;
  WalkResult result_;
};

}  // namespace

WalkResult prune_along(const Graph& graph, const NamedValues<Tensor>& weights,
                       const std::vector<NamedValues<Tensor>>& batches,
                       const std::function<bool(const std::string& name)>& is_wanted,
                       bool needs_gram, const PruneWeight& prune) {
  return Walk(graph, weights, batches).run(is_wanted, needs_gram, prune);
}

}  // namespace sten
