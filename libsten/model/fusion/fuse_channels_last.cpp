// SPDX-License-Identifier: Apache-2.0
// Keeps images in channels last between operators that need it.
//
// A transpose only permutes the axes of its value's layout. Operators that work in any order take
// inputs and give results in that order; for others, the elements are moved to the order of the
// file.
#include <algorithm>
#include <set>

#include "libsten/model/fusion/axis_permutation.h"
#include "libsten/model/fusion/fuse.h"

namespace sten {
namespace {

class Reorder {
 public:
  explicit Reorder(const GraphBuilder& from)
      : from_(from), uses_(from.uses()), layouts_(from.size()) {
    to_.extents = from.extents;
    for (const BuilderNode& s : from.steps())
      if (uses_[s.out] > 0 && s.op.text() == "transpose" && transposes_images(s))
        wants_last_.insert(s.in[0]);
  }

  GraphBuilder run() {
    for (ValueRef v = 0; v < from_.size(); ++v)
      if (!from_[v].node) layouts_[v] = {{to_.add_leaf(from_[v]), {}}};
    for (const BuilderNode& s : from_.steps())
      if (uses_[s.out] > 0 && !in_order(s)) in_identity_permutation(s);
    std::set<ValueRef> taken;
    for (const GraphBuilder::Output& o : from_.outputs()) {
      const ValueRef v = own(o.value);
      if (moves_.contains(v) && taken.insert(v).second) to_.change(v).name = o.name;
      to_.add_output(o.name, v);
    }
    return std::move(to_);
  }

 private:
  // A value of the new builder that has the axes of an old value in this order.
  struct AxisLayout {
    ValueRef value = 0;
    AxisPermutation order;
  };

  const std::optional<ExtentList>& shape(ValueRef v) const { return from_[v].shape; }
  std::size_t rank(ValueRef v) const { return shape(v)->size(); }
  bool transposes_images(const BuilderNode& s) const {
    return shape(s.out) && rank(s.out) > 2 &&
           s.attributes.list("axes", {}) == axes_to_last(rank(s.out));
  }
  const AxisLayout& first(ValueRef v) const { return layouts_[v].front(); }
  // The order of a value that was permuted; nullptr otherwise.
  const AxisPermutation* moved(ValueRef v) const {
    return shape(v) && !first(v).order.empty() ? &first(v).order : nullptr;
  }

  ValueRef own(ValueRef v) { return in(v, {}); }
  // v with its axes in this order; adds a transpose if needed.
  ValueRef in(ValueRef v, const AxisPermutation& order) {
    for (const AxisLayout& f : layouts_[v])
      if (f.order == order) return f.value;
    const AxisLayout& f = first(v);
    const AxisPermutation is = f.order.empty() ? identity_permutation(rank(v)) : f.order;
    AxisPermutation move = order.empty() ? identity_permutation(rank(v)) : order;
    for (Index& d : move) d = place_of(is, d);
    const ValueRef moved = move_axes(f.value, move, name_of(v));
    set_shape(moved, reordered(*shape(v), order));
    layouts_[v].push_back({moved, order});
    return moved;
  }
  ValueRef move_axes(ValueRef value, const AxisPermutation& order, const std::string& name) {
    const auto& x = to_[value].shape;
    if (x && preserves_elements(*x, order))
      if (const auto list = shape_list(*x, reordered(*x, order)))
        return node("reshape", {value}, shape_attribute(*list), name + ".reshape");
    return node("transpose", {value}, Attributes().set("axes", order), name + ".transpose");
  }
  ValueRef node(Name op, std::vector<ValueRef> in, Attributes a, const std::string& name) {
    const ValueRef v = to_.add(op, std::move(in), std::move(a), name);
    if (to_.node_of(v)) moves_.insert(v);
    return v;
  }
  static Attributes shape_attribute(const std::vector<Index>& list) {
    return Attributes().set("shape", Attributes::Value(list)).set("copy-zeros", 1);
  }
  std::string name_of(ValueRef v) const {
    return from_.node_of(v) ? from_.node_of(v)->name : from_[v].name;
  }
  void set_shape(ValueRef v, ExtentList s) {
    if (to_.node_of(v)) to_[v].shape = std::move(s);
  }

  // Adds the node's value in this order.
  bool put(const BuilderNode& s, std::vector<ValueRef> in, Attributes a, AxisPermutation order) {
    const ValueRef v = to_.add(s.op, std::move(in), std::move(a), s.name);
    order = shortened(std::move(order));
    if (shape(s.out)) set_shape(v, reordered(*shape(s.out), order));
    if (to_.node_of(v) && !to_[v].dtype) to_[v].dtype = from_[s.out].dtype;
    layouts_[s.out] = {{v, std::move(order)}};
    return true;
  }
  void in_identity_permutation(const BuilderNode& s) {
    std::vector<ValueRef> in;
    for (const ValueRef r : s.in) in.push_back(own(r));
    put(s, std::move(in), s.attributes, {});
  }

  // Adds the node in a permuted order; false if its inputs need the order of the file.
  bool in_order(const BuilderNode& s) {
    const std::string_view op = s.op.text();
    if (s.in.empty() || !shape(s.in[0]) || !shape(s.out)) return false;
    if (op == "transpose") return transpose(s);
    if (op == "identity") return layouts_[s.out] = layouts_[s.in[0]], true;
    if (is_elementwise(op)) return elementwise(s);
    if (op == "concat") return concat(s);
    if (!moved(s.in[0])) return false;
    const AxisPermutation order = *moved(s.in[0]);
    if (op == "reshape" || op == "flatten" || op == "squeeze" || op == "unsqueeze")
      return reshape(s, order);
    if (op == "layer-norm") return layer_norm(s, order);
    if (op == "shape" || op == "size") return extents(s, order);
    auto attributes = s.in.size() == 1 ? attributes_permuted(s, order) : std::nullopt;
    if (!attributes) return false;
    AxisPermutation result = permutation_of_result(s, order);
    return put(s, {first(s.in[0]).value}, std::move(*attributes), std::move(result));
  }

  bool transpose(const BuilderNode& s) {
    AxisPermutation axes = s.attributes.list("axes", identity_permutation(rank(s.out)));
    const auto n = static_cast<Index>(axes.size());
    if (!s.attributes.has("axes") && n > 1) std::swap(axes[axes.size() - 2], axes.back());
    for (Index& d : axes) d = d < 0 ? d + n : d;
    const AxisPermutation back = inverse_permutation(axes);
    for (const AxisLayout& f : layouts_[s.in[0]]) {
      AxisPermutation order = f.order.empty() ? identity_permutation(axes.size()) : f.order;
      for (Index& d : order) d = back[static_cast<std::size_t>(d)];
      layouts_[s.out].push_back({f.value, shortened(std::move(order))});
    }
    return true;
  }

  // Uses the order of an input that has all elements of the result.
  bool elementwise(const BuilderNode& s) {
    const AxisPermutation* order = nullptr;
    for (const ValueRef r : s.in) {
      if (!shape(r)) return false;
      if (!order && shape(r) == shape(s.out)) order = moved(r);
    }
    if (!order) return false;
    const AxisPermutation own = *order;
    std::vector<ValueRef> in;
    for (const ValueRef r : s.in) in.push_back(operand(r, own));
    return put(s, std::move(in), s.attributes, own);
  }
  // Permutes an operand that is broadcast.
  ValueRef operand(ValueRef v, const AxisPermutation& order) {
    const auto is_one = [](Extent e) { return e.is(1); };
    if (std::ranges::all_of(*shape(v), is_one)) return own(v);
    const std::size_t missing = order.size() - rank(v);
    if (missing == 0) return in(v, order);
    AxisPermutation axes;
    ExtentList to;  // without leading extents of 1
    for (const Index d : order) {
      const Index axis = d - static_cast<Index>(missing);
      if (axis >= 0) axes.push_back(axis);
      const Extent e = axis < 0 ? known(1) : (*shape(v))[static_cast<std::size_t>(axis)];
      if (!to.empty() || !e.is(1)) to.push_back(e);
    }
    const ValueRef target =
        preserves_elements(*shape(v), axes) ? own(v) : in(v, shortened(std::move(axes)));
    if (to_[target].shape == to) return target;
    if (const auto list = shape_list(*to_[target].shape, to))
      return node("reshape", {target}, shape_attribute(*list), name_of(v) + ".reshape");
    AxisPermutation ones;
    for (std::size_t i = 0; i < order.size(); ++i)
      if (order[i] < static_cast<Index>(missing)) ones.push_back(static_cast<Index>(i));
    return node("unsqueeze", {in(v, shortened(std::move(axes)))}, Attributes().set("axes", ones),
                name_of(v) + ".unsqueeze");
  }

  bool concat(const BuilderNode& s) {
    const AxisPermutation* order = nullptr;
    for (const ValueRef r : s.in) {
      if (!shape(r) || rank(r) != rank(s.out)) return false;
      if (!order) order = moved(r);
    }
    if (!order) return false;
    const AxisPermutation own = *order;
    std::vector<ValueRef> parts;
    for (const ValueRef r : s.in) parts.push_back(in(r, own));
    return put(s, std::move(parts), *attributes_permuted(s, own), own);
  }
  bool reshape(const BuilderNode& s, const AxisPermutation& order) {
    const ExtentList &x = *shape(s.in[0]), &y = *shape(s.out);
    const auto groups = reshape_groups(to_.extents, x, y);
    if (!groups) return false;
    AxisPermutation from = order;
    auto after = permutation_after(*groups, from, x, y);
    if (!after && wants_last_.contains(s.out)) {
      // The elements must be moved: to the order that the next operator needs.
      const auto before = permutation_before(*groups, axes_to_last(y.size()), x, y);
      if (before) after = permutation_after(*groups, from = *before, x, y);
    }
    if (!after) return false;
    const auto list = shape_list(reordered(x, from), reordered(y, *after));
    if (!list) return false;
    const ValueRef v =
        to_.add("reshape", {in(s.in[0], shortened(from))}, shape_attribute(*list), s.name);
    set_shape(v, reordered(y, *after));
    layouts_[s.out] = {{v, shortened(*after)}};
    return true;
  }

  // The parameters belong to the last axis.
  bool layer_norm(const BuilderNode& s, const AxisPermutation& order) {
    if (order.back() != std::ssize(order) - 1) return false;
    std::vector<ValueRef> in{first(s.in[0]).value};
    for (std::size_t i = 1; i < s.in.size(); ++i) in.push_back(own(s.in[i]));
    return put(s, std::move(in), s.attributes, order);
  }

  // Extents, each at its axis' position.
  bool extents(const BuilderNode& s, const AxisPermutation& order) {
    const ValueRef x = first(s.in[0]).value;
    if (s.op.text() == "size") return put(s, {x}, s.attributes, {});
    const Index n = std::ssize(order);
    const auto at = [&](const char* name, Index fallback) {
      const Index p = s.attributes.integer(name, fallback);
      return std::clamp<Index>(p < 0 ? p + n : p, 0, n);
    };
    AxisPermutation positions;
    for (Index d = at("begin", 0); d < at("end", n); ++d) positions.push_back(place_of(order, d));
    const ValueRef all = to_.add("shape", {x}, {}, s.name + ".shape");
    const ValueRef v = to_.add("gather", {all, to_.add_integers(positions)}, {}, s.name);
    layouts_[s.out] = {{v, {}}};
    return true;
  }

  const GraphBuilder& from_;
  std::vector<Index> uses_;
  std::vector<std::vector<AxisLayout>>
      layouts_;                    // of each old value; the first layout is the original one
  std::set<ValueRef> wants_last_;  // inputs of transposes to channels last
  std::set<ValueRef> moves_;       // new nodes that move elements, which the file lacks
  GraphBuilder to_{from_.file_bytes()};
};

}  // namespace

void keep_channels_last(GraphBuilder& builder) {
  const std::vector<Index> uses = builder.uses();
  const bool has_images = std::ranges::any_of(builder.steps(), [&](const BuilderNode& s) {
    return uses[s.out] > 0 && is_image_operator(s.op.text());
  });
  if (!has_images) return;
  GraphBuilder moved = Reorder(builder).run();
  if (count_needed(moved, "transpose") <= count_needed(builder, "transpose"))
    builder = std::move(moved);
}

}  // namespace sten
