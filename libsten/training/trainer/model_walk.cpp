// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/model_walk.h"

#include <algorithm>
#include <set>

#include "libsten/compute/calibrate/sums.h"
#include "libsten/core/tensor/low_floats.h"
#include "libsten/training/trainer/batch_runner.h"
#include "libsten/training/trainer/value_shapes.h"

namespace sten {
namespace {

// Activations are stored at any size after so many layers, since too much would be computed again.
constexpr std::size_t most_unstored_layers = 16;

// The sum of |y - bias|^2 over the rows of y [..., out]. bias: may be null.
double squares_without(const Tensor* bias, const Tensor& y) {
  const Dense all = y.to_dense(), subtracted = bias ? bias->to_dense() : Dense();
  const auto values = all.values.as<float>();
  const auto width = static_cast<std::size_t>(all.extents.back());
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double v = values[i] - (bias ? subtracted.values.as<float>()[i % width] : 0.0F);
    sum += v * v;
  }
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
        pruned_(graph_, end_of(layers_), request.weight),
        shapes_(graph_, request.batches.front(), true),
        point_(request.store.begin()),
        is_resumed_(point_.node > 0) {
    for (const LayerToCalibrate& l : layers_)
      if (l.node < point_.node) last_pruned_ = l.node;
    if (point_.dense_node) make_dense();
  }

  WalkResult run() {
    auto at = std::ranges::find_if(
        layers_, [&](const LayerToCalibrate& l) { return l.node >= point_.node; });
    while (at != layers_.end()) {
      const auto end = std::find_if(at, layers_.end(), [&](const LayerToCalibrate& l) {
        return !l.has_input_of(*at, graph_);
      });
      const Layers group(at, end);
      collect(group, next_point(group, end == layers_.end() ? nullptr : &*end));
      if (request_.needs_targets && !dense_) begin_dense();
      for (const LayerToCalibrate& layer : group) prune(layer);
      last_pruned_ = group.back().node;
      unstored_layers_ += group.size();
      is_resumed_ = false;
      at = end;
    }
    result_.positions = point_.positions;
    return result_;
  }

 private:
  // The bytes of the values of one batch that are stored at a node.
  Index bytes_at(std::size_t node) const {
    Index bytes = 0;
    for (const std::size_t value : pruned_.live_at(node)) bytes += shapes_.bytes(value);
    return bytes;
  }
  // Of the nodes, one with the fewest bytes; `otherwise` if none has values.
  std::size_t smallest_of(std::size_t first, std::size_t last, bool is_latest,
                          std::size_t otherwise) const {
    std::size_t best = otherwise;
    Index least = 0;
    for (std::size_t node = first; node <= last; ++node) {
      const Index bytes = bytes_at(node);
      if (bytes == 0 || (least > 0 && (is_latest ? bytes > least : bytes >= least))) continue;
      least = bytes;
      best = node;
    }
    return best;
  }

  // A point of both models, with the bytes there.
  WalkPoint point_at(std::size_t node, std::optional<std::size_t> dense_node) const {
    const Index bytes = bytes_at(node), models = request_.needs_targets ? 2 : 1;
    return {node, dense_node ? bytes + bytes_at(*dense_node) : models * bytes, point_.positions,
            dense_node};
  }

  // Where activations are stored before a group is pruned. Those of the pruned model are stored
  // before its layers, where they are smallest; those of the dense model, which does not depend on
  // pruning, after its layers if they fit. Activations of more than most_stored_bytes, which are
  // more than a fourth larger than at the points before, are not stored. `next`: the first layer
  // after the group.
  WalkPoint next_point(Layers group, const LayerToCalibrate* next) const {
    const std::size_t node = group.front().node;
    const std::size_t first = last_pruned_ ? *last_pruned_ + 1 : 1;
    // A stored point is that of the layers after it, as in the walk that stored it.
    const std::size_t best =
        is_resumed_ ? point_.node : smallest_of(first, node, true, point_.node);
    if (!dense_) {
      const WalkPoint only = point_at(best, std::nullopt);
      return is_large(only) && !is_resumed_ && !is_overdue() ? point_ : only;
    }
    const std::size_t dense = *point_.dense_node;
    const std::size_t least = dense < first ? smallest_of(first, node, true, dense) : dense;
    const std::size_t ahead =
        next ? smallest_of(group.back().node + 1, next->node, false, least) : least;
    const WalkPoint points[] = {point_at(best, ahead), point_at(point_.node, ahead),
                                point_at(best, least)};
    for (const WalkPoint& p : points)
      if (!is_large(p)) return p;
    if (!is_resumed_ && !is_overdue()) return point_;
    return points[0].most_bytes < points[2].most_bytes ? points[0] : points[2];
  }

  bool is_large(const WalkPoint& p) const {
    return stored_bytes_of(p.most_bytes) > request_.most_stored_bytes && point_.most_bytes > 0 &&
           4 * p.most_bytes > 5 * point_.most_bytes;
  }
  bool is_overdue() const { return unstored_layers_ >= most_unstored_layers; }

  // The bytes of all batches in float32, if one has `bytes`.
  Index float32_bytes_of(Index bytes) const { return bytes * std::ssize(request_.batches); }
  bool is_rounded(Index bytes) const { return are_stored_rounded(float32_bytes_of(bytes)); }
  Index stored_bytes_of(Index bytes) const {
    return float32_bytes_of(bytes) / (is_rounded(bytes) ? 2 : 1);
  }

  // The stored activations and the inputs of a batch.
  BatchValues begin(WalkedModel model, std::size_t batch) const {
    return {request_.store.load(model, batch), graph_, request_.batches[batch]};
  }

  // Sums up the statistics of the layers' input, and moves to the next point.
  void collect(Layers group, WalkPoint next) {
    next.most_bytes = std::max(next.most_bytes, point_.most_bytes);
    target_squares_.clear();
    InputSums sums = sums_of(group, next);
    statistics_ = sums.statistics();
    const Dense target_gram = sums.target_gram();
    if (target_gram.size() > 0)
      for (const LayerToCalibrate& l : group)
        target_squares_[l.weight] = sten::squares_of_outputs(dense_->stored(l.weight), target_gram);
    if (next.positions == 0) next.positions = statistics_.samples;
    const auto elements =
        static_cast<Index>(statistics_.gram.size() + statistics_.cross.size() + target_gram.size());
    result_.most_bytes =
        std::max(result_.most_bytes,
                 pruned_bytes_ + dense_bytes_ + elements * static_cast<Index>(sizeof(float)));
    advance(next);
  }

  // Runs all batches up to the input of the layers; stores the activations at the next point.
  InputSums sums_of(Layers group, const WalkPoint& next) {
    const LayerToCalibrate& layer = group.front();
    const bool moves = next.node > point_.node, dense_moves = next.dense_node > point_.dense_node;
    const std::vector<std::size_t> live = pruned_.live_at(next.node),
                                   inputs = layer.input_values(graph_);
    Segment to_point = pruned_.segment(point_.node, live),
            to_layer = pruned_.segment(next.node, inputs);
    const bool sums_outputs = request_.needs_gram && outputs_are_cheaper(group);
    std::vector<std::size_t> dense_live;
    if (dense_moves) dense_live = dense_->live_at(*next.dense_node);
    std::optional<Segment> in_dense;
    if (dense_) {
      std::set<std::size_t> wanted(dense_live.begin(), dense_live.end());
      wanted.insert(inputs.begin(), inputs.end());
      if (sums_outputs)
        for (const LayerToCalibrate& l : group)
          if (has_output(l)) wanted.insert(graph_.first_node() + l.node);
      in_dense.emplace(dense_->segment(*point_.dense_node, {wanted.begin(), wanted.end()}));
    }
    InputSums sums(request_.needs_gram, dense_.has_value(), !sums_outputs);
    Index pruned_bytes = 0, dense_bytes = 0;
    for (std::size_t b = 0; b < request_.batches.size(); ++b) {
      BatchValues values = begin(WalkedModel::pruned, b);
      to_point.run(values);
      if (moves) pruned_bytes += store(WalkedModel::pruned, b, live, next, values);
      to_layer.run(values);
      const Dense x = pruned_.input_of(layer, values, values).to_dense();
      if (!dense_) {
        sums.add(x);
        continue;
      }
      BatchValues of_dense = begin(WalkedModel::dense, b);
      in_dense->run(of_dense);
      const Tensor t = dense_->input_of(layer, of_dense, values);
      sums.add(x, t.to_dense());
      if (sums_outputs)
        for (const LayerToCalibrate& l : group)
          target_squares_[l.weight] += squares_of_outputs(l, t, of_dense);
      if (dense_moves) dense_bytes += store(WalkedModel::dense, b, dense_live, next, of_dense);
    }
    if (moves) pruned_bytes_ = pruned_bytes;
    if (dense_moves) dense_bytes_ = dense_bytes;
    return sums;
  }

  // Whether the layer's node computes its output, up to a bias that is stored.
  bool has_output(const LayerToCalibrate& layer) const {
    const std::vector<std::size_t>& in = graph_.arguments(layer.node);
    return !layer.expert && (in.size() < 3 || graph_.is_stored(in[2]));
  }
  // The squares of the dense layer's outputs, without bias, for its input t.
  double squares_of_outputs(const LayerToCalibrate& layer, const Tensor& t,
                            const BatchValues& values) {
    if (!has_output(layer))
      return squares_without(nullptr, apply("linear", {t, dense_->stored(layer.weight)}));
    const std::vector<std::size_t>& in = graph_.arguments(layer.node);
    return squares_without(in.size() > 2 ? &dense_->stored(in[2]) : nullptr,
                           values[graph_.first_node() + layer.node]);
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

  // Stores the values of a batch; returns their bytes.
  Index store(WalkedModel model, std::size_t batch, const std::vector<std::size_t>& live,
              const WalkPoint& point, BatchValues& values) {
    BatchActivations all = values.part(live);
    if (is_rounded(point.most_bytes)) {
      result_.is_rounded = true;
      all = rounded(std::move(all));
      // As a walk that begins at the point.
      for (const auto& [value, x] : all) values.set(value, widened(x));
    }
    const Index bytes = bytes_of(all);
    request_.store.store(model, batch, std::move(all));
    return bytes;
  }

  void advance(const WalkPoint& next) {
    const WalkPoint before = point_;
    point_ = next;
    const bool moves = next.node > before.node, dense_moves = next.dense_node > before.dense_node;
    if (!moves && !dense_moves) return;
    bool can_begin = moves;
    if (moves) {
      unstored_layers_ = 0;
      can_begin = pruned_.release_before(next.node);
    }
    if (dense_moves) (void)dense_->release_before(*next.dense_node);
    request_.released();
    request_.store.advance(can_begin ? std::optional(WalkPoint{next.node, before.most_bytes,
                                                               next.positions, before.dense_node})
                                     : std::nullopt);
  }

  void make_dense() {
    dense_.emplace(pruned_);
    dense_->share_with(pruned_);
    pruned_.share_with(*dense_);
  }
  // From here on the models differ.
  void begin_dense() {
    make_dense();
    dense_bytes_ = pruned_bytes_;
    point_.dense_node = point_.node;
    request_.store.begin_dense();
  }

  void prune(const LayerToCalibrate& layer) {
    statistics_.target_squares.reset();
    if (const auto at = target_squares_.find(layer.weight); at != target_squares_.end())
      statistics_.target_squares = at->second;
    const std::string& name = graph_.weights()[layer.weight - graph_.first_weight()].name;
    pruned_.replace(layer.weight, request_.prune(name, statistics_));
  }

  const WalkRequest& request_;
  const Graph& graph_;
  const std::vector<LayerToCalibrate> layers_;
  BatchRunner pruned_;
  std::optional<BatchRunner> dense_;  // none before the first pruned layer, or without targets
  const ValueShapes shapes_;          // of the first batch
  WalkPoint point_;                   // most_bytes: at this point, too
  bool is_resumed_;                   // until a group is pruned
  std::optional<std::size_t> last_pruned_;  // node
  std::size_t unstored_layers_ = 0;         // pruned since the point
  InputStatistics statistics_;
  std::map<std::size_t, double> target_squares_;  // by weight
  Index pruned_bytes_ = 0, dense_bytes_ = 0;      // of the stored activations
  WalkResult result_;
};

}  // namespace

WalkResult prune_along(const WalkRequest& request) { return Walk(request).run(); }

}  // namespace sten
