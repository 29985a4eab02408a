// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/streamed_model.h"

#include <algorithm>

#include "libsten/training/trainer/segmented_graph.h"

namespace sten {
namespace {

std::vector<StreamedModel::Segment> segments_to(std::size_t value, const Graph& g,
                                                const NamedValues<Tensor>& inputs) {
  const std::size_t needed = value - g.first_node() + 1;
  const SegmentedGraph segmented(g, inputs);
  std::vector<StreamedModel::Segment> all;
  std::size_t end = 0;
  for (const SegmentedGraph::Segment& s : segmented.segments()) {
    end += s.graph.nodes().size();
    all.push_back({std::min(end, needed), {}});
    if (end >= needed) break;
  }
  all.back().observed = {value};
  return all;
}

}  // namespace

StreamedModel::StreamedModel(Source source, std::vector<NamedValues<Tensor>> batches,
                             std::vector<Segment> segments)
    : source_(std::move(source)), batches_(std::move(batches)), segments_(std::move(segments)) {}

StreamedModel::StreamedModel(Source source, std::vector<NamedValues<Tensor>> batches,
                             std::size_t value)
    : source_(std::move(source)),
      batches_(std::move(batches)),
      segments_(segments_to(value, source_.graph, batches_.front())) {}

std::size_t StreamedModel::segment_of(const std::string& weight) const {
  const Graph& g = source_.graph;
  const std::size_t value = g.number_of(weight), end = segments_.back().end;
  std::size_t node = 0;
  while (node < end && std::ranges::count(g.arguments(node), value) == 0) ++node;
  return std::ranges::upper_bound(segments_, node, {}, &Segment::end) - segments_.begin();
}

BatchRunner StreamedModel::weights() const {
  return {source_.graph, segments_.back().end, source_.weight};
}

void StreamedModel::run_segment(BatchRunner& weights, State& at, const Observe& observe) const {
  const std::size_t begin = at.segment == 0 ? 0 : segments_[at.segment - 1].end;
  const Segment& part = segments_[at.segment];
  const std::vector<std::size_t> live = weights.live_at(part.end);
  std::vector<std::size_t> wanted = live;
  for (const std::size_t value : part.observed)
    if (std::ranges::count(live, value) == 0) wanted.push_back(value);
  {
    sten::Segment nodes = weights.segment(begin, wanted);
    Index bytes = 0;
    for (std::size_t b = 0; b < batches_.size(); ++b) {
      BatchValues values(at.activations[b], source_.graph, batches_[b]);
      nodes.run(values);
      if (!part.observed.empty()) observe(at.segment, b, values);
      BatchActivations next = values.part(live);
      if (are_stored_rounded(bytes_of(next) * std::ssize(batches_))) {
        at.is_rounded = true;
        next = rounded(std::move(next));
      }
      bytes += bytes_of(next);
      at.activations[b] = std::move(next);
    }
    at.most_bytes = std::max(at.most_bytes, bytes);
  }
  (void)weights.release_before(part.end);
  source_.released();
  ++at.segment;
}

StreamedModel::State StreamedModel::run(BatchRunner weights, State from,
                                        const Observe& observe) const {
  while (from.segment < segments()) run_segment(weights, from, observe);
  return from;
}

}  // namespace sten
