// Orders of axes: a value whose axis i is axis order[i] of another one. {} is the other one's own.
#pragma once
#include <optional>

#include "libsten/onnx/graph_builder.h"

namespace sten {

using AxisOrder = Attributes::List;

AxisOrder own_order(std::size_t rank);
// {} where nothing moves.
AxisOrder shortened(AxisOrder order);
AxisOrder inverse_order(const AxisOrder& order);
// The place of an axis in the order.
Index place_of(const AxisOrder& order, Index axis);
ExtentList reordered(const ExtentList& x, const AxisOrder& order);
// Whether elements stay where they are: only axes of extent 1 move.
bool preserves_elements(const ExtentList& x, const AxisOrder& order);

// Axes of x and of what it is reshaped to that have the same elements, in both one beside the other;
// axes of extent 1 are in none.
struct AxisGroup {
  AxisOrder from, to;
};
// Nothing where it is not known, and for values without elements.
std::optional<std::vector<AxisGroup>> reshape_groups(Extents& extents, const ExtentList& x,
                                                     const ExtentList& y);
// The order of the result where x has this order: nothing where a group is torn.
std::optional<AxisOrder> order_after(const std::vector<AxisGroup>& groups, const AxisOrder& order,
                                     const ExtentList& x, const ExtentList& y);
// The order of x that makes this one of the result.
std::optional<AxisOrder> order_before(const std::vector<AxisGroup>& groups, const AxisOrder& order,
                                      const ExtentList& x, const ExtentList& y);
// The attribute of a reshape of x to `to`: an extent that is not known is x's own at its axis, or the
// only other. It goes with copy-zeros=1.
std::optional<std::vector<Index>> shape_list(const ExtentList& x, const ExtentList& to);

// The attributes of a step whose input lies in this order: of a concat, a slice or a pad, of a
// reduction, and of a softmax along what is the last axis there. Nothing for others.
std::optional<Attributes> attributes_in(const BuilderNode& node, const AxisOrder& order);
// How the result lies then.
AxisOrder order_of_result(const BuilderNode& node, const AxisOrder& order);

}  // namespace sten
