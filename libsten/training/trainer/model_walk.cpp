// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/model_walk.h"

#include <algorithm>

#include "libsten/compute/calibrate/sums.h"
#include "libsten/core/base/error.h"
#include "libsten/training/trainer/batch_runner.h"
#include "libsten/training/trainer/value_shapes.h"

namespace sten {
namespace {

// Activations are stored at any size after so many layers, since too much would be computed again.
constexpr std::size_t most_unstored_layers = 16;

double sum_of_squares(const Tensor& y) {
  double sum = 0;
  const Dense dense = y.to_dense();
  for (const float v : dense.values.as<float>()) sum += static_cast<double>(v) * v;
  return sum;
}

std::size_t end_of(const std::vector<LayerToCalibrate>& layers) {
  return layers.empty() ? 0 : layers.back().node + 1;
}

class Walk {
 public:
  using Layers = std::span<const LayerToCalibrate>;

  explicit Walk(const WalkRequest& request)
      : request_(request),
        graph_(request.graph),
        layers_(layers_to_calibrate(graph_, request.is_wanted)),
        runner_(graph_, end_of(layers_), request.weight),
        shapes_(graph_, request.batches.front(), true),
        point_(request.store.begin()),
        next_(point_) {}

  WalkResult run() {
    auto at = std::ranges::find_if(
        layers_, [&](const LayerToCalibrate& l) { return l.node >= point_.node; });
    while (at != layers_.end()) {
      const auto end = std::find_if(at, layers_.end(), [&](const LayerToCalibrate& l) {
        return !l.has_input_of(*at, graph_);
      });
      const Layers group(at, end);
      next_ = next_point(group.front().node);
      collect(group);
      for (const LayerToCalibrate& layer : group) prune(layer);
      last_pruned_ = group.back().node;
      unstored_layers_ += group.size();
      at = end;
    }
    result_.positions = point_.positions;
    return result_;
  }

 private:
  // Where activations are stored on the way to a layer's node: where they are smallest, unless they
  // are many, and more than a half larger than at the points before.
  WalkPoint next_point(std::size_t node) {
    // A stored point is that of the layers after it, as in the walk that stored it.
    if (!last_pruned_ && point_.node > 0) return point_;
    const std::size_t first = last_pruned_ ? *last_pruned_ + 1 : point_.node + 1;
    if (first > node) return point_;
    WalkPoint best = point_;
    Index least = 0;
    for (std::size_t i = first; i <= node; ++i) {
      Index bytes = 0;
      for (const std::size_t value : runner_.live_at(i)) bytes += shapes_.bytes(value);
      if (bytes == 0 || (least > 0 && bytes > least)) continue;
      least = bytes;
      best.node = i;
    }
    const bool is_large = stored_bytes_of(least) > request_.most_stored_bytes &&
                          point_.most_bytes > 0 && 2 * least > 3 * point_.most_bytes;
    if (is_large && unstored_layers_ < most_unstored_layers) return point_;
    best.most_bytes = std::max(best.most_bytes, least);
    return best;
  }

  // The bytes of all batches in float32, if a batch has `bytes` in one model.
  Index float32_bytes_of(Index bytes) const {
    return bytes * std::ssize(request_.batches) * (request_.needs_targets ? 2 : 1);
  }
  bool is_rounded(Index bytes) const { return are_stored_rounded(float32_bytes_of(bytes)); }
  Index stored_bytes_of(Index bytes) const {
    return float32_bytes_of(bytes) / (is_rounded(bytes) ? 2 : 1);
  }

  // The stored activations and the inputs of a batch.
  BatchValues begin(std::size_t batch) const {
    return {request_.store.load(batch), graph_, request_.batches[batch]};
  }

  // Runs all batches up to the input of the layers, and sums its statistics up; stores the
  // activations at the next point.
  void collect(Layers group) {
    const LayerToCalibrate& layer = group.front();
    const bool moves = next_.node > point_.node;
    const std::vector<std::size_t> live = runner_.live_at(next_.node),
                                   inputs = layer.input_values(graph_);
    Segment to_point = runner_.segment(point_.node, live),
            to_layer = runner_.segment(next_.node, inputs);
    const bool sums_outputs = request_.needs_gram && outputs_are_cheaper(group);
    std::optional<InputSums> sums;
    target_squares_.clear();
    Index stored_bytes = 0;
    for (std::size_t b = 0; b < request_.batches.size(); ++b) {
      BatchValues values = begin(b);
      to_point.run(values);
      if (moves) stored_bytes += store(b, live, values);
      to_layer.run(values);
      const Activation x = runner_.input_of(layer, values);
      const bool differs = x.pruned.has_value();
      if (!sums) sums.emplace(request_.needs_gram, differs, !sums_outputs);
      sums->add(x.in_pruned().to_dense(), differs ? x.dense.to_dense() : Dense());
      if (!differs || !sums_outputs) continue;
      for (const LayerToCalibrate& l : group)
        target_squares_[l.weight] +=
            sum_of_squares(apply("linear", {x.dense, runner_.stored(l.weight).dense}));
    }
    statistics_ = sums->statistics();
    if (next_.positions == 0) next_.positions = statistics_.samples;
    if (moves) advance(stored_bytes);
    point_.positions = next_.positions;
    const Dense target_gram = sums->target_gram();
    if (target_gram.size() > 0)
      for (const LayerToCalibrate& l : group)
        target_squares_[l.weight] = squares_of_outputs(runner_.stored(l.weight).dense, target_gram);
    const auto elements =
        static_cast<Index>(statistics_.gram.size() + statistics_.cross.size() + target_gram.size());
    result_.most_bytes =
        std::max(result_.most_bytes, stored_bytes_ + elements * static_cast<Index>(sizeof(float)));
  }

  // Whether the squares of the dense layers' outputs are cheaper to sum up than the Gram matrix of
  // their inputs.
  bool outputs_are_cheaper(Layers group) const {
    Index outputs = 0, inputs = 0;
    for (const LayerToCalibrate& layer : group) {
      const Shape& w = graph_.weights()[layer.weight - graph_.first_weight()].shape;
      outputs += w[0];
      inputs = w[1];
    }
    return 2 * outputs < inputs;
  }

  Index store(std::size_t batch, const std::vector<std::size_t>& live, BatchValues& values) {
    BatchActivations all = values.part(live);
    if (is_rounded(next_.most_bytes)) {
      result_.is_rounded = true;
      for (auto& [value, a] : all) {
        a = rounded(a);
        values.set(value, widened(a));  // as a walk that begins at the point
      }
    }
    const Index bytes = bytes_of(all);
    request_.store.store(batch, std::move(all));
    return bytes;
  }

  void advance(Index stored_bytes) {
    point_ = next_;
    stored_bytes_ = stored_bytes;
    unstored_layers_ = 0;
    const bool can_begin = runner_.release_before(point_.node);
    request_.released();
    request_.store.advance(point_, can_begin);
  }

  void prune(const LayerToCalibrate& layer) {
    statistics_.target_squares.reset();
    if (const auto at = target_squares_.find(layer.weight); at != target_squares_.end())
      statistics_.target_squares = at->second;
    const std::string& name = graph_.weights()[layer.weight - graph_.first_weight()].name;
    Tensor pruned = request_.prune(name, statistics_);
    if (request_.needs_targets)
      runner_.set_pruned(layer.weight, std::move(pruned));
    else
      runner_.replace(layer.weight, std::move(pruned));
  }

  const WalkRequest& request_;
  const Graph& graph_;
  const std::vector<LayerToCalibrate> layers_;
  BatchRunner runner_;
  const ValueShapes shapes_;  // of the first batch
  WalkPoint point_, next_;
  std::optional<std::size_t> last_pruned_;  // node
  std::size_t unstored_layers_ = 0;         // pruned since the point
  InputStatistics statistics_;
  std::map<std::size_t, double> target_squares_;  // by weight
  Index stored_bytes_ = 0;
  WalkResult result_;
};

}  // namespace

WalkResult prune_along(const WalkRequest& request) { return Walk(request).run(); }

}  // namespace sten
