// SPDX-License-Identifier: Apache-2.0
// The first output of a model in slices of its last dimension. Of a linear layer that computes it,
// such as the head of a language model, memory holds a slice of the weight in float32.
#pragma once
#include <functional>

#include "libsten/model/graph/subgraph.h"

namespace sten {

class SlicedOutput {
 public:
  // `slice_bytes`: of the weight's slices in float32, at most, and at least one row.
  explicit SlicedOutput(const Graph& g, Index slice_bytes = Index{64} << 20);

  // Whether a linear layer, followed by elementwise operators, computes the output. Otherwise the
  // output is one slice.
  bool has_layer() const { return !layer_.nodes.empty(); }
  // Number of the value that slices are computed from: the input of the layer, or the output.
  std::size_t input() const { return input_; }

  // Calls `use` with the first slice for all batches, then with the next. `inputs`: by batch, in
  // float32 or BF16. `weight` returns a weight by name; one slice if it is not dense.
  using Use = std::function<void(std::size_t batch, const Dense& slice)>;
  void run(const std::function<Tensor(const std::string& name)>& weight,
           const std::vector<Tensor>& inputs, const Use& use) const;

 private:
  Index slice_bytes_;
  std::size_t input_;
  GraphParts layer_;  // with the operators after it
};

}  // namespace sten
