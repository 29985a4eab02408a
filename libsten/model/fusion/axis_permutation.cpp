// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/fusion/axis_permutation.h"

#include <algorithm>
#include <numeric>

namespace sten {
namespace {

bool is_one(const ExtentList& x, Index axis) { return x[static_cast<std::size_t>(axis)].is(1); }

// The axes whose extent is not known to be 1.
AxisPermutation wide_axes(const ExtentList& x) {
  AxisPermutation axes;
  for (Index d = 0; d < std::ssize(x); ++d)
    if (!is_one(x, d)) axes.push_back(d);
  return axes;
}

Extent product_of(Extents& extents, const ExtentList& x, std::span<const Index> axes) {
  ExtentList factors;
  for (const Index d : axes) factors.push_back(x[static_cast<std::size_t>(d)]);
  return extents.product(factors);
}

// Carries `order` from one side's axes to those of the other side, keeping groups whole. Axes of
// extent 1 follow the axis before them.
std::optional<AxisPermutation> carried(const std::vector<AxisGroup>& groups,
                                       AxisPermutation AxisGroup::*own,
                                       AxisPermutation AxisGroup::*other,
                                       const AxisPermutation& order, const ExtentList& x,
                                       const ExtentList& y) {
  AxisPermutation wide, out;
  for (const Index d : order)
    if (!is_one(x, d)) wide.push_back(d);
  for (std::size_t at = 0; at < wide.size();) {
    const auto g = std::ranges::find_if(
        groups, [&](const AxisGroup& a) { return (a.*own).front() == wide[at]; });
    if (g == groups.end() || at + ((*g).*own).size() > wide.size() ||
        !std::equal(((*g).*own).begin(), ((*g).*own).end(),
                    wide.begin() + static_cast<std::ptrdiff_t>(at)))
      return {};
    at += ((*g).*own).size();
    out.insert(out.end(), ((*g).*other).begin(), ((*g).*other).end());
  }
  for (Index d = 0; d < std::ssize(y); ++d)
    if (is_one(y, d)) out.insert(d == 0 ? out.begin() : std::ranges::find(out, d - 1) + 1, d);
  return out;
}

bool is_reduction(std::string_view op) {
  return op == "sum" || op == "mean" || op.starts_with("reduce-");
}

// The position of an axis, which may be negative, in the order.
Index axis_in(const AxisPermutation& order, Index axis) {
  return place_of(order, axis < 0 ? axis + std::ssize(order) : axis);
}
AxisPermutation axes_in(const AxisPermutation& order, const AxisPermutation& axes) {
  AxisPermutation out;
  for (const Index d : axes) out.push_back(axis_in(order, d));
  return out;
}

}  // namespace

AxisPermutation identity_permutation(std::size_t rank) {
  AxisPermutation order(rank);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

AxisPermutation shortened(AxisPermutation order) {
  if (std::ranges::is_sorted(order)) order.clear();
  return order;
}

AxisPermutation inverse_permutation(const AxisPermutation& order) {
  AxisPermutation out(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    out[static_cast<std::size_t>(order[i])] = static_cast<Index>(i);
  return out;
}

Index place_of(const AxisPermutation& order, Index axis) {
  return std::ranges::find(order, axis) - order.begin();
}

ExtentList reordered(const ExtentList& x, const AxisPermutation& order) {
  if (order.empty()) return x;
  ExtentList out;
  for (const Index d : order) out.push_back(x[static_cast<std::size_t>(d)]);
  return out;
}

bool preserves_elements(const ExtentList& x, const AxisPermutation& order) {
  AxisPermutation wide;
  for (const Index d : order)
    if (!is_one(x, d)) wide.push_back(d);
  return std::ranges::is_sorted(wide);
}

std::optional<std::vector<AxisGroup>> reshape_groups(Extents& extents, const ExtentList& x,
                                                     const ExtentList& y) {
  const AxisPermutation from = wide_axes(x), to = wide_axes(y);
  const auto is_zero = [](Extent e) { return e.is(0); };
  if (std::ranges::any_of(x, is_zero) || std::ranges::any_of(y, is_zero)) return {};
  std::vector<AxisGroup> groups;
  std::size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    const auto part = [](const AxisPermutation& all, std::size_t at, std::size_t n) {
      return std::span(all).subspan(at, n);
    };
    // The smallest ranges of axes with the same number of elements.
    std::optional<AxisGroup> found;
    const std::size_t most = from.size() - i + to.size() - j;
    for (std::size_t axes = 2; axes <= most && !found; ++axes)
      for (std::size_t n = 1; n < axes && !found; ++n) {
        if (n > from.size() - i || axes - n > to.size() - j) continue;
        const auto a = part(from, i, n), b = part(to, j, axes - n);
        if (product_of(extents, x, a) == product_of(extents, y, b))
          found = AxisGroup{{a.begin(), a.end()}, {b.begin(), b.end()}};
      }
    if (!found) return {};
    i += found->from.size();
    j += found->to.size();
    groups.push_back(std::move(*found));
  }
  if (i < from.size() || j < to.size()) return {};
  return groups;
}

std::optional<AxisPermutation> permutation_after(const std::vector<AxisGroup>& groups,
                                                 const AxisPermutation& order, const ExtentList& x,
                                                 const ExtentList& y) {
  return carried(groups, &AxisGroup::from, &AxisGroup::to, order, x, y);
}
std::optional<AxisPermutation> permutation_before(const std::vector<AxisGroup>& groups,
                                                  const AxisPermutation& order, const ExtentList& x,
                                                  const ExtentList& y) {
  return carried(groups, &AxisGroup::to, &AxisGroup::from, order, y, x);
}

std::optional<std::vector<Index>> shape_list(const ExtentList& x, const ExtentList& to) {
  std::vector<Index> list;
  bool has_open = false;
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (to[d].is(0)) return {};
    if (to[d].is_known()) {
      list.push_back(to[d].number);
    } else if (d < x.size() && x[d] == to[d]) {
      list.push_back(0);
    } else {
      if (has_open) return {};
      has_open = true;
      list.push_back(-1);
    }
  }
  return list;
}

std::optional<Attributes> attributes_permuted(const BuilderNode& node,
                                              const AxisPermutation& order) {
  const std::string_view op = node.op.text();
  Attributes a = node.attributes;
  const AxisPermutation axes = axes_in(order, a.list("axes", {}));
  const bool is_softmax = op == "softmax" || op == "log-softmax";
  if (op == "concat" || is_softmax || (op == "slice" && !a.has("begins"))) {
    const Index axis = axis_in(order, a.integer("axis", is_softmax ? -1 : 0));
    if (is_softmax && axis != std::ssize(order) - 1) return {};
    return a.set("axis", axis);
  }
  if (is_reduction(op)) {
    if (axes.empty()) return {};
    AxisPermutation sorted = axes;
    std::ranges::sort(sorted);
    return a.set("axes", sorted);
  }
  if (op == "slice") {
    const std::size_t count = a.list("begins", {}).size();
    return a.set("axes", axes.empty() ? axes_in(order, identity_permutation(count)) : axes);
  }
  if (op != "pad") return {};
  if (!axes.empty()) return a.set("axes", axes);
  const Attributes::List& pads = a.list("pads", {});
  if (pads.size() != 2 * order.size()) return {};
  Attributes::List moved;
  for (const std::size_t side : {std::size_t{0}, order.size()})
    for (const Index d : order) moved.push_back(pads[side + static_cast<std::size_t>(d)]);
  return a.set("pads", moved);
}

AxisPermutation permutation_of_result(const BuilderNode& node, const AxisPermutation& order) {
  if (!is_reduction(node.op.text()) || node.attributes.integer("keep", 0) != 0) return order;
  const AxisPermutation gone = axes_in(order, node.attributes.list("axes", {}));
  AxisPermutation rest;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (!std::ranges::count(gone, static_cast<Index>(i))) rest.push_back(order[i]);
  AxisPermutation left = rest;
  std::ranges::sort(left);
  for (Index& d : rest) d = place_of(left, d);
  return rest;
}

}  // namespace sten
