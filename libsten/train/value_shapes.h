// Dtypes and shapes of a graph's values, before it runs.
#pragma once
#include "libsten/graph/graph.h"
#include "libsten/onnx/graph_builder.h"

namespace sten {

class ValueShapes {
 public:
  // What the import of a model infers, from the dtypes and shapes of the inputs. Error with the node
  // where what it takes does not fit; with `guesses` an unknown value has the shape
  // of the largest input of its node instead.
  ValueShapes(const Graph& g, const NamedValues<Tensor>& inputs, bool guesses = false);

  // None where it is not known.
  std::optional<Shape> shape(std::string_view name) const;
  DType dtype(std::string_view name) const;  // F32 where it is not known
  Index bytes(std::string_view name) const { return width_of(dtype(name)) * size_of(*shape(name)); }

 private:
  void add(const Node& n, bool guesses);
  std::optional<Shape> shape_of(ValueRef r) const;

  GraphBuilder builder_;
  std::map<std::string, ValueRef, std::less<>> refs_;
};

}  // namespace sten
