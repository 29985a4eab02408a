// Orders of axes: a value whose axis i is axis order[i] of another one. {} is the other one's own.
#pragma once
#include <optional>

#include "libsten/onnx/graph_builder.h"

namespace sten {

using AxisPermutation = Attributes::List;

AxisPermutation identity_permutation(std::size_t rank);
// {} where nothing moves.
AxisPermutation shortened(AxisPermutation order);
AxisPermutation inverse_permutation(const AxisPermutation& order);
// The place of an axis in the order.
Index place_of(const AxisPermutation& order, Index axis);
ExtentList reordered(const ExtentList& x, const AxisPermutation& order);
// Whether elements stay where they are: only axes of extent 1 move.
bool preserves_elements(const ExtentList& x, const AxisPermutation& order);

// Axes of x and of what it is reshaped to that have the same elements, in both one beside the other;
// axes of extent 1 are in none.
struct AxisGroup {
  AxisPermutation from, to;
};
// Nothing where it is not known, and for values without elements.
std::optional<std::vector<AxisGroup>> reshape_groups(Extents& extents, const ExtentList& x,
                                                     const ExtentList& y);
// The order of the result where x has this order: nothing where a group is torn.
std::optional<AxisPermutation> permutation_after(const std::vector<AxisGroup>& groups,
                                                 const AxisPermutation& order, const ExtentList& x,
                                                 const ExtentList& y);
// The order of x that makes this one of the result.
std::optional<AxisPermutation> permutation_before(const std::vector<AxisGroup>& groups,
                                                  const AxisPermutation& order, const ExtentList& x,
                                                  const ExtentList& y);
// The attribute of a reshape of x to `to`: an extent that is not known is x's own at its axis, or the
// only other. It goes with copy-zeros=1.
std::optional<std::vector<Index>> shape_list(const ExtentList& x, const ExtentList& to);

// The attributes of a step whose input lies in this order: of a concat, a slice or a pad, of a
// reduction, and of a softmax along what is the last axis there. Nothing for others.
std::optional<Attributes> attributes_permuted(const BuilderNode& node,
                                              const AxisPermutation& order);
// How the result lies then.
AxisPermutation permutation_of_result(const BuilderNode& node, const AxisPermutation& order);

}  // namespace sten
