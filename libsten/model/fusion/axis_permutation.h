// SPDX-License-Identifier: Apache-2.0
// Axis permutations of the ONNX import: axis i of a value is axis order[i] of the original value.
// {} is the identity.
#pragma once
#include <optional>

#include "libsten/model/fusion/graph_builder.h"

namespace sten {

using AxisPermutation = Attributes::List;

AxisPermutation identity_permutation(std::size_t rank);
// Returns {} for the identity.
AxisPermutation shortened(AxisPermutation order);
AxisPermutation inverse_permutation(const AxisPermutation& order);
// The position of an axis in the order.
Index place_of(const AxisPermutation& order, Index axis);
ExtentList reordered(const ExtentList& x, const AxisPermutation& order);
// Whether the order of elements is kept, since only axes of extent 1 move.
bool preserves_elements(const ExtentList& x, const AxisPermutation& order);

// Contiguous axes of x, and of the result of its reshape, with the same elements. Axes of extent 1
// are in no group.
struct AxisGroup {
  AxisPermutation from, to;
};
// The groups of a reshape; none if they are unknown, and for empty values.
std::optional<std::vector<AxisGroup>> reshape_groups(Extents& extents, const ExtentList& x,
                                                     const ExtentList& y);
// The order of the result if x has this order; none if a group is split.
std::optional<AxisPermutation> permutation_after(const std::vector<AxisGroup>& groups,
                                                 const AxisPermutation& order, const ExtentList& x,
                                                 const ExtentList& y);
// The order of x that gives the result this order.
std::optional<AxisPermutation> permutation_before(const std::vector<AxisGroup>& groups,
                                                  const AxisPermutation& order, const ExtentList& x,
                                                  const ExtentList& y);
// The shape attribute of a reshape of x to `to`, with copy-zeros=1: an unknown extent must be x's
// own at its axis, or the only other one. None otherwise.
std::optional<std::vector<Index>> shape_list(const ExtentList& x, const ExtentList& to);

// The attributes of a node whose input has this order: for concat, slice, pad, reductions, and
// softmax along the axis that is last in this order. None for other operators.
std::optional<Attributes> attributes_permuted(const BuilderNode& node,
                                              const AxisPermutation& order);
// The order of the node's result.
AxisPermutation permutation_of_result(const BuilderNode& node, const AxisPermutation& order);

}  // namespace sten
