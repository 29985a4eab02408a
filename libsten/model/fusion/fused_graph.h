// SPDX-License-Identifier: Apache-2.0
// Fusion of graphs of any origin, for inference.
#pragma once
#include "libsten/model/fusion/graph_port.h"
#include "libsten/model/graph/graph.h"

namespace sten {

// Returns an inference_graph() with the fusions of fuse.h, also those without a gradient. Constants
// are folded and unused nodes removed. A fused node has the name of the last node that it replaces.
// Inputs, outputs and weights stay, and so do nodes with formats or running statistics. Results
// equal those of g up to rounding. `ports`: inputs with a known dtype or shape, which most fusions
// need. Returns g if a node does not fit its inputs; the error is that of running g.
Graph fused_graph(const Graph& g, const std::vector<GraphPort>& ports = {});

}  // namespace sten
