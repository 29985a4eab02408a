// SPDX-License-Identifier: Apache-2.0
// A model that runs on batches segment by segment: memory holds the weights of a segment, such as a
// layer of a decoder, and the activations of all batches between two segments.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "libsten/training/trainer/batch_runner.h"

namespace sten {

class StreamedModel {
 public:
  struct Source {
    const Graph& graph;
    std::function<Tensor(const std::string& name)> weight;  // as WalkRequest::weight
    std::function<void()> released;                         // as WalkRequest::released
  };
  // The nodes from the end of the segment before up to `end`, and the values to observe.
  struct Segment {
    std::size_t end;
    std::vector<std::size_t> observed;
  };
  // Gets the observed values of a batch, the graph's inputs, and the values before the segment that
  // it reads.
  using Observe =
      std::function<void(std::size_t segment, std::size_t batch, const BatchValues& values)>;

  // The values of all batches that the segments from `segment` on need. Above 192 MiB in float32
  // they are rounded to BF16.
  struct State {
    std::size_t segment = 0;
    std::vector<BatchActivations> activations;
    Index most_bytes = 0;  // peak of the activations so far
    bool is_rounded = false;
  };

  // `batches`: of the graph's inputs, at least one. The graph must outlive the object.
  StreamedModel(Source source, std::vector<NamedValues<Tensor>> batches,
                std::vector<Segment> segments);
  // Up to the value of a node, which the last segment observes. Segments end where few values are
  // needed later.
  StreamedModel(Source source, std::vector<NamedValues<Tensor>> batches, std::size_t value);

  State first() const { return {0, std::vector<BatchActivations>(batches_.size())}; }
  std::size_t segments() const { return segments_.size(); }
  // The first segment that needs the weight; segments() without one.
  std::size_t segment_of(const std::string& weight) const;

  // The weights; BatchRunner::replace() changes one.
  BatchRunner weights() const;
  // Runs the next segment, and releases the weights that no later one needs.
  void run_segment(BatchRunner& weights, State& at, const Observe& observe) const;
  // Runs all segments from the state on. Returns the last state.
  State run(BatchRunner weights, State from, const Observe& observe) const;

 private:
  Source source_;
  std::vector<NamedValues<Tensor>> batches_;
  std::vector<Segment> segments_;
};

}  // namespace sten
