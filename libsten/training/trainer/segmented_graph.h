// SPDX-License-Identifier: Apache-2.0
// Activation checkpointing (Chen et al. 2016, "Training deep nets with sublinear memory cost"): a
// graph as segments, between which the values of a training step are stored. A backward pass
// computes the values within each segment again.
#pragma once
#include "libsten/model/graph/graph.h"

namespace sten {

class SegmentedGraph {
 public:
  // The nodes [begin, end) of the graph. Outputs are the values that later segments use, and those
  // of the outputs of the graph that the nodes compute.
  struct Segment {
    Graph graph;
    std::vector<std::string> later;  // outputs that later segments use
  };

  // One segment.
  explicit SegmentedGraph(const Graph& g);
  // Ends segments where the bytes of the values that later nodes use have a local minimum, of at
  // most a quarter of those that the segment computes. `inputs`: for the shapes of values.
  SegmentedGraph(const Graph& g, const NamedValues<Tensor>& inputs);

  const std::vector<Segment>& segments() const { return segments_; }
  // Bytes of the stored values, and of the values of the largest segment.
  Index stored_bytes() const { return stored_bytes_; }
  Index largest_bytes() const { return largest_bytes_; }

 private:
  void add(const Graph& g, std::size_t begin, std::size_t end);

  std::vector<Segment> segments_;
  Index stored_bytes_ = 0, largest_bytes_ = 0;
};

}  // namespace sten
