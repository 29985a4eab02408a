// SPDX-License-Identifier: Apache-2.0
// Heads of an ONNX graph: the layers that compute its outputs.
#pragma once
#include <deque>
#include <vector>

#include "libsten/files/onnx/model.h"

namespace sten {

// The nodes of a graph and of all its subgraphs, as one list connected by the names of values.
struct OnnxNodes {
  std::vector<const OnnxNode*> all;
  std::deque<OnnxGraph> subgraphs;
  // Replace If, Loop and Scan: nodes without an operator that connect outputs of subgraphs to
  // outputs of the node, and inputs and loop outputs to the inputs of the next iteration.
  std::deque<OnnxNode> joints;
};

// Collects all nodes of `graph`, whose bytes are in `file`. Borrows from both. Error (input) for a
// malformed subgraph, and for more than 16 levels of subgraphs.
OnnxNodes all_nodes(const OnnxGraph& graph, const WireFile& file);

// Whether the node is a MatMul, Gemm, Conv or ConvTranspose of ONNX: input 1 is a weight.
bool multiplies(const OnnxNode& n);

// Returns for each node of nodes.all whether it is the last product before an output of `graph`.
// Its result reaches an output, but no other product and no residual sum; a residual sum is an Add
// with a value that also reaches a product. Values that are indices, shapes or boxes of
// RoiAlign do not count as paths into a product. Products are multiplies(), attention, Einsum,
// recurrent operators, and operators of other domains with an initializer of rank 2 or more.
// `fixed`: initializers whose products are not layers. Linear time in the size of the graph.
std::vector<bool> output_heads(const OnnxGraph& graph, const OnnxNodes& nodes,
                               const std::vector<std::string_view>& fixed);

}  // namespace sten
