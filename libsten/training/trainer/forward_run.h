// SPDX-License-Identifier: Apache-2.0
// A run of a model on batches, segment by segment, in bounded memory.
#pragma once
#include <functional>

#include "libsten/model/graph/graph.h"
#include "libsten/training/trainer/segment.h"

namespace sten {

struct ForwardRun {
  // The nodes from the end of the segment before up to `end`, and the values that `observe` reads.
  struct Part {
    std::size_t end;
    std::vector<std::size_t> observed;
  };

  const Graph& graph;
  const std::vector<NamedValues<Tensor>>& batches;  // of the graph's inputs
  // Returns the values of a weight, BF16 or F32. Called again if later segments have the weight.
  std::function<Tensor(const std::string& name)> weight;
  std::vector<Part> parts;  // in order of execution
  // Called for each batch of each segment, with the observed values, the graph's inputs, and the
  // values before the segment that it reads.
  std::function<void(std::size_t part, const BatchValues& values)> observe;
  // Called when weights were released, after each segment.
  std::function<void()> released = [] {};
};

struct ForwardRunResult {
  Index most_bytes = 0;     // peak of stored activations
  bool is_rounded = false;  // whether stored activations are BF16
};

// Runs all batches on one segment after the other. Between two segments it stores the values that
// later nodes need, in BF16 if they have more than 128 MiB, and releases the weights.
ForwardRunResult run_in_segments(const ForwardRun& run);

}  // namespace sten
