// Weights whose zeros operators multiply like other elements.
#pragma once
#include "libsten/dispatch/operators.h"
#include "libsten/graph/graph.h"

namespace sten {

// What the node's operator does with the weight in that layout; nullptr for a sparse one of a
// convolution in groups, which has no implementation. `values`: weights and constants by name.
std::shared_ptr<const Plan> plan_with_weight(const Graph& g, const NamedValues<Tensor>& values,
                                             const Node& n, const std::string& weight,
                                             const Spec& layout);

struct IgnoredZeros {
  std::string weight, layout;
  std::string op;  // the first operator that takes it so
};

// Sparse weights (of F32 or BF16, in a sparse layout, or by most_nonzeros) with operators that multiply
// all of their elements: the weight is stored dense or masked, or the operator makes it so. `sparse`,
// if not nullptr, becomes the number of all sparse weights of products.
std::vector<IgnoredZeros> ignored_zeros(const Graph& g, const NamedValues<Tensor>& values,
                                        Index* sparse = nullptr);

// "conv, conv-transpose ignore the zeros of 3 of 5 sparse weights (2 in dense, 1 in csr)"; empty if
// there are none.
std::string describe(const std::vector<IgnoredZeros>& ignored, Index sparse);

}  // namespace sten
