// SPDX-License-Identifier: Apache-2.0
// Graphs as JSON.
#pragma once
#include "libsten/model/graph/graph.h"

namespace sten {

// Formats and initial values are specs. Error (usage) for a sparsifier without a spec, since the
// registry did not make it.
std::string to_json(const Graph& g);

// Parses a graph. Error (usage) with the path, such as "graph: /nodes/3/op: is not a text", also
// for unknown keys. Sparsifiers and layouts are those of registry().
Graph parse_graph(std::string_view json);

}  // namespace sten
