// The layers that make a graph's outputs.
#pragma once
#include <deque>
#include <vector>

#include "libsten/io/onnx/model.h"

namespace sten {

// The nodes of a graph and of all its subgraphs, as one list joined by the names of values.
struct OnnxNodes {
  std::vector<const OnnxNode*> all;
  std::deque<OnnxGraph> subgraphs;
  // In place of If, Loop and Scan: nodes without an operator, from the outputs of subgraphs to those
  // of the node, and from the node's inputs and a loop's outputs to the inputs of the next turn.
  std::deque<OnnxNode> joints;
};

// `file` has the bytes of `graph`. The result borrows from both. Error (input) for a subgraph that
// cannot be read, and for subgraphs nested more than 16 deep.
OnnxNodes all_nodes(const OnnxGraph& graph, const WireFile& file);

// MatMul, Gemm, Conv, ConvTranspose of ONNX: a weight as input 1.
bool multiplies(const OnnxNode& n);

// By number in nodes.all: whether it is the last product before an output of `graph`. Its result
// reaches an output, and neither another product nor a residual sum, that is an Add with a value
// that goes into a product, too. Values that only say where or how much (indices, shapes, boxes of
// RoiAlign) do not count as paths into a product. A product is multiplies(), with attention, Einsum
// and recurrent operators, and what another domain does with an initializer of rank 2 or more.
// fixed: names of initializers whose products are not layers. Linear in the size of the graph.
std::vector<bool> output_heads(const OnnxGraph& graph, const OnnxNodes& nodes,
                               const std::vector<std::string_view>& fixed);

}  // namespace sten
