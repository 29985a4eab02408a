// SPDX-License-Identifier: Apache-2.0
// Ignored zeros: zeros of sparse weights that operators multiply.
#pragma once
#include "libsten/core/dispatch/operators.h"
#include "libsten/model/graph/graph.h"

namespace sten {

// The plan of the node's operator with the weight in that layout; nullptr for a sparse weight of a
// grouped convolution, which has no implementation. `values`: weights and constants by name.
std::shared_ptr<const Plan> plan_with_weight(const Graph& g, const NamedValues<Tensor>& values,
                                             const Node& n, const std::string& weight,
                                             const Spec& layout);

struct IgnoredZeros {
  std::string weight, layout;
  std::string op;  // the first operator that ignores the zeros
};

// Returns the sparse weights (of F32 or BF16, in a sparse layout, or by most_nonzeros) with
// operators that multiply all elements: the weight is dense or masked, or the operator makes it
// dense. `sparse`, if not nullptr, is set to the number of sparse weights of products.
std::vector<IgnoredZeros> ignored_zeros(const Graph& g, const NamedValues<Tensor>& values,
                                        Index* sparse = nullptr);

// "conv, conv-transpose ignore the zeros of 3 of 5 sparse weights (2 in dense, 1 in csr)"; empty if
// there are none.
std::string describe(const std::vector<IgnoredZeros>& ignored, Index sparse);

}  // namespace sten
