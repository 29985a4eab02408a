// Graphs as text, to be kept beside their weights.
#pragma once
#include "libsten/graph/graph.h"

namespace sten {

// Formats and beginnings of weights are specs. Error (usage) for a sparsifier of a format that has
// no spec, since it was not made by the registry.
std::string to_json(const Graph& g);

// Error (usage) that names the place, such as "graph: /nodes/3/op: is not a text"; unknown keys are
// refused. Sparsifiers and layouts are those of registry().
Graph parse_graph(std::string_view json);

}  // namespace sten
