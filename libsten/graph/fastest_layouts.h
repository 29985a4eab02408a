// In which layouts a graph's sparse weights are fastest on this machine.
#pragma once
#include "libsten/graph/graph.h"

namespace sten {

// The weights of these names, each in the layout in which the nodes that take it took the least time:
// dense, the one it is in, csr, or n:m of 2:4, 1:4 or 1:8, as far as a layout holds all of it and has
// the operator. Elements stay what they are. Each node is run once for each layout, and then timed three
// times, one node after the other, on `values`: the graph's inputs, weights and constants by name. The
// choice depends on time, and may be another one in the next run. A weight of which less than half is
// zero is not looked at, and stays as it is.
NamedValues<Tensor> in_fastest_layouts(const Graph& g, const NamedValues<Tensor>& values,
                                       const std::vector<std::string>& weights);

}  // namespace sten
