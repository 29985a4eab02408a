#include "libsten/training/trainer/model_walk.h"

#include <algorithm>

#include "libsten/compute/calibrate/sums.h"
#include "libsten/core/base/error.h"

namespace sten {
namespace {

// A value of the graph: of an input or node, a tensor per batch; of a weight or constant, one tensor.
// `pruned`: in the pruned model, if it differs.
struct Value {
  std::vector<Tensor> dense, pruned;

  bool is_pruned() const { return !pruned.empty(); }
  const Tensor& of(std::size_t batch, bool in_pruned) const {
    const std::vector<Tensor>& all = in_pruned && is_pruned() ? pruned : dense;
    return all[all.size() == 1 ? 0 : batch];
  }
};

class Walk {
 public:
  Walk(const Graph& graph, const NamedValues<Tensor>& weights,
       const std::vector<NamedValues<Tensor>>& batches)
      : graph_(graph),
        batches_(batches.size()),
        values_(graph.value_count()),
        last_use_(graph.value_count()) {
    std::size_t at = 0;
    for (const std::string& name : graph.inputs()) {
      for (const NamedValues<Tensor>& batch : batches) values_[at].dense.push_back(batch.at(name));
      ++at;
    }
    for (const Weight& w : graph.weights()) values_[at++].dense = {weights.at(w.name)};
    const Device device = weights.empty() ? Device::cpu : weights.begin()->second.device();
    for (const Constant& c : graph.constants()) values_[at++].dense = {c.value.to(device)};
    for (std::size_t i = 0; i < graph.nodes().size(); ++i)
      for (const std::size_t value : graph.arguments(i)) last_use_[value] = i;
  }

  WalkResult run(const std::function<bool(const std::string&)>& is_wanted, bool needs_gram,
                 const PruneWeight& prune) {
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      const Node& n = graph_.nodes()[i];
      if (n.op == Name("linear") && !graph_.is_stored(graph_.arguments(i)[0]) &&
          graph_.find_weight(n.inputs[1]) && is_wanted(n.inputs[1])) {
        Value& weight = values_[graph_.arguments(i)[1]];
        if (!weight.is_pruned()) {
          collect(graph_.arguments(i)[0], needs_gram);
          statistics_.target_squares.reset();
          if (target_.size() > 0)
            statistics_.target_squares = squares_of_outputs(weight.dense.front(), target_);
          weight.pruned = {prune(n.inputs[1], statistics_)};
        }
      }
      compute(i);
      count();
      release(i);
    }
    return result_;
  }

 private:
  // Collects statistics of the value, unless present.
  void collect(std::size_t value, bool needs_gram) {
    if (value == collected_) return;
    collected_ = value;
    const Value& x = values_[value];
    InputSums sums(needs_gram, x.is_pruned());
    for (std::size_t b = 0; b < batches_; ++b)
      sums.add(x.of(b, true).to_dense(), x.is_pruned() ? x.dense[b].to_dense() : Dense());
    statistics_ = sums.statistics();
    target_ = sums.target_gram();
    if (result_.positions == 0) result_.positions = statistics_.samples;
  }

  void compute(std::size_t node) {
    const std::vector<std::size_t>& arguments = graph_.arguments(node);
    const auto run = [&](bool in_pruned) {
      std::vector<Tensor> out;
      for (std::size_t b = 0; b < batches_; ++b) {
        std::vector<Tensor> in;
        for (const std::size_t value : arguments) in.push_back(values_[value].of(b, in_pruned));
        out.push_back(graph_.run_node<Tensor>(node, in));
      }
      return out;
    };
    Value& out = values_[graph_.first_node() + node];
    out.dense = run(false);
    if (std::ranges::any_of(arguments, [&](std::size_t x) { return values_[x].is_pruned(); }))
      out.pruned = run(true);
  }

  void release(std::size_t node) {
    for (std::size_t value = 0; value < values_.size(); ++value)
      if (!graph_.is_stored(value) && last_use_[value] <= node) values_[value] = {};
  }

  void count() {
    Index bytes =
        static_cast<Index>(statistics_.gram.size() + statistics_.cross.size() + target_.size()) *
        static_cast<Index>(sizeof(float));
    for (std::size_t value = 0; value < values_.size(); ++value) {
      if (graph_.is_stored(value)) continue;
      for (const auto* each : {&values_[value].dense, &values_[value].pruned})
        for (const Tensor& t : *each) bytes += static_cast<Index>(t.bytes());
    }
    result_.most_bytes = std::max(result_.most_bytes, bytes);
  }

  const Graph& graph_;
  std::size_t batches_;
  std::vector<Value> values_;             // by number
  std::vector<std::size_t> last_use_;     // by number: the last node that needs it
  std::optional<std::size_t> collected_;  // value of the statistics
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
