// SPDX-License-Identifier: Apache-2.0
// Dtypes and shapes of a graph's values before it runs.
#pragma once
#include "libsten/model/fusion/graph_builder.h"
#include "libsten/model/graph/graph.h"

namespace sten {

class ValueShapes {
 public:
  // Infers from the dtypes and shapes of the inputs, as the ONNX import does. Error with the node
  // if its inputs do not fit. With `guesses`, a value of unknown shape gets that of the largest
  // input of its node.
  ValueShapes(const Graph& g, const NamedValues<Tensor>& inputs, bool guesses = false);

  // `value`: its number in the graph. None if unknown.
  std::optional<Shape> shape(std::size_t value) const;
  DType dtype(std::size_t value) const;  // F32 if unknown
  Index bytes(std::size_t value) const { return width_of(dtype(value)) * size_of(*shape(value)); }

 private:
  void add(const Node& n, const std::vector<std::size_t>& arguments, bool guesses);

  GraphBuilder builder_;
  std::vector<ValueRef> refs_;  // by number
};

}  // namespace sten
