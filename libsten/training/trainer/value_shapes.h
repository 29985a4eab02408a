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

  // None if unknown.
  std::optional<Shape> shape(std::string_view name) const;
  DType dtype(std::string_view name) const;  // F32 if unknown
  Index bytes(std::string_view name) const { return width_of(dtype(name)) * size_of(*shape(name)); }

 private:
  void add(const Node& n, bool guesses);
  std::optional<Shape> shape_of(ValueRef r) const;

  GraphBuilder builder_;
  std::map<std::string, ValueRef, std::less<>> refs_;
};

}  // namespace sten
