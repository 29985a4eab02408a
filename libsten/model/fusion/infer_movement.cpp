// SPDX-License-Identifier: Apache-2.0
// Shape inference of operators that move elements.
#include <limits>

#include "libsten/model/fusion/infer.h"

namespace sten {

Index magnitude(Index node) {
  return node > 0 ? node : -std::max(node, -std::numeric_limits<Index>::max());
}

namespace {

void reshape(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  ExtentList to;
  if (i.inputs() > 1) {
    if (!i.in(1).elements) return;
    to = *i.in(1).elements;
  } else {
    to = known(i.node.attributes.list("shape", {}));
  }
  const bool copies = i.node.attributes.integer("copy-zeros", 0) != 0;
  std::optional<std::size_t> open;
  for (std::size_t d = 0; d < to.size(); ++d) {
    if (copies && to[d].is(0)) {
      if (!i.in(0).shape) {
        to[d] = i.builder.extents.fresh();
      } else {
        if (d >= i.shape(0).size()) fail("the input has no extent for the 0 at axis {}", d);
        to[d] = i.shape(0)[d];
      }
    } else if (to[d].is_known() ? to[d].number < 0 : !i.builder.extents.is_natural(to[d])) {
      if (open) return;
      open = d;
    }
  }
  if (open && to[*open].is(-1)) {
    ExtentList others = to;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(*open));
    to[*open] =
        i.in(0).shape ? i.builder.extents.quotient(i.shape(0), others) : i.builder.extents.fresh();
  }
  i.out.shape = std::move(to);
}

void squeeze(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  const auto axes = i.list(1, "axes");
  if (!axes || !i.in(0).shape) return;
  const ExtentList& x = i.shape(0);
  std::vector<bool> gone(x.size());
  for (const Index a : *axes) gone[i.axis(a, x.size())] = true;
  ExtentList out;
  for (std::size_t d = 0; d < x.size(); ++d) {
    if (axes->empty() && !x[d].is_known()) return;
    if (axes->empty() ? !x[d].is(1) : !gone[d]) out.push_back(x[d]);
  }
  i.out.shape = std::move(out);
}

void unsqueeze(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  const auto axes = i.list(1, "axes");
  if (!axes || !i.in(0).shape) return;
  std::vector<bool> is_new(i.shape(0).size() + axes->size());
  for (const Index a : *axes) is_new[i.axis(a, is_new.size())] = true;
  if (std::ranges::count(is_new, true) != std::ssize(*axes)) fail("duplicate axis");
  ExtentList out;
  std::size_t next = 0;
  for (const bool one : is_new) out.push_back(one ? known(1) : i.shape(0)[next++]);
  i.out.shape = std::move(out);
}

void flatten(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.in(0).shape) return;
  const ExtentList& x = i.shape(0);
  const Index rank = std::ssize(x), axis = i.node.attributes.integer("axis", 1);
  const Index cut = axis < 0 ? axis + rank : axis;
  if (cut < 0 || cut > rank) fail("axis {} is out of range for {} axes", axis, rank);
  i.out.shape = ExtentList{i.builder.extents.product({x.begin(), x.begin() + cut}),
                           i.builder.extents.product({x.begin() + cut, x.end()})};
}

void transpose(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.in(0).shape) return;
  const ExtentList& x = i.shape(0);
  ExtentList out = x;
  if (!i.node.attributes.has("axes")) {
    if (x.size() < 2) return;
    std::swap(out[x.size() - 1], out[x.size() - 2]);
  } else {
    const std::vector<Index>& axes = i.node.attributes.list("axes", {});
    if (axes.size() != x.size())
      fail("expected one axis for each of {}, got {}", x.size(), axes.size());
    for (std::size_t d = 0; d < axes.size(); ++d) out[d] = x[i.axis(axes[d], x.size())];
  }
  i.out.shape = std::move(out);
}

void concat(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.has_shapes()) return;
  ExtentList out = i.shape(0);
  const std::size_t axis = i.axis(out.size(), "axis", 0);
  for (std::size_t k = 1; k < i.inputs(); ++k) {
    if (i.shape(k).size() != out.size())
      fail("expected inputs of the same rank, got {} and {}", out.size(), i.shape(k).size());
    out[axis] = i.builder.extents.sum(out[axis], i.shape(k)[axis]);
    for (std::size_t d = 0; d < out.size(); ++d)
      if (d != axis && !out[d].is_known()) out[d] = i.shape(k)[d];
  }
  i.out.shape = std::move(out);
}

// The number of indices from `begin` to before `end` by `step`, as in NumPy.
Extent part(GraphBuilder& builder, Extent extent, Extent begin, Extent end, Index node) {
  Extents& e = builder.extents;
  if (extent.is_known() && begin.is_known() && end.is_known()) {
    const Index n = extent.number, low = node > 0 ? 0 : -1, high = node > 0 ? n : n - 1;
    const auto place = [&](Index p) { return std::clamp(p < 0 ? p + n : p, low, high); };
    // A start before the first element means the first one, in either direction.
    const Index from = std::max<Index>(place(begin.number), 0), to = place(end.number);
    const Index span = node > 0 ? to - from : from - to;
    return known(span <= 0 || n == 0 ? 0 : ceil_div(span, magnitude(node)));
  }
  constexpr Index far = Index{1} << 30;
  const bool to_end = end == extent || (end.is_known() && end.number >= far);
  if (node == 1 && begin.is(0) && to_end) return extent;
  // The first elements, assuming that there are as many, as in a table of positions.
  if (node == 1 && begin.is(0) && !end.is_known() && e.is_natural(end) && extent.is_known())
    return end;
  if (node == 1 && begin.is(0) && end.is_known() && end.number >= 0 && end.number <= 1) return end;
  return e.fresh();
}

void slice(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.in(0).shape) return;
  ExtentList out = i.shape(0);
  const auto given = [&](std::size_t k, const char* name) -> std::optional<ExtentList> {
    if (k >= i.inputs()) return known(i.node.attributes.list(name, {}));
    return i.in(k).elements;
  };
  std::optional<ExtentList> begins = given(1, "begins"), ends = given(2, "ends");
  auto axes = i.list(3, "axes"), steps = i.list(4, "steps");
  const Attributes& one = i.node.attributes;
  if (one.has("axis") || one.has("begin") || one.has("end")) {
    axes = {one.integer("axis", 0)};
    begins = {known(one.integer("begin", 0))};
    ends = {known(one.integer("end", std::numeric_limits<Index>::max()))};
  }
  if (!axes) return;
  const std::size_t n = begins ? begins->size() : ends ? ends->size() : axes->size();
  if (axes->empty())
    for (std::size_t d = 0; d < n; ++d) axes->push_back(static_cast<Index>(d));
  for (std::size_t k = 0; k < axes->size(); ++k) {
    Extent& x = out[i.axis((*axes)[k], out.size())];
    if (!begins || !ends || !steps || k >= begins->size() || k >= ends->size())
      x = i.builder.extents.fresh();
    else
      x = part(i.builder, x, (*begins)[k], (*ends)[k], k < steps->size() ? (*steps)[k] : 1);
  }
  i.out.shape = std::move(out);
}

void expand(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  const std::optional<ExtentList> to =
      i.inputs() > 1 ? i.in(1).elements : known(i.node.attributes.list("shape", {}));
  if (i.in(0).shape && to) i.out.shape = broadcast(i.builder, i.shape(0), *to);
}

void tile(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  const std::optional<ExtentList> by =
      i.inputs() > 1 ? i.in(1).elements : known(i.node.attributes.list("repeats", {}));
  if (!i.in(0).shape || !by || by->size() != i.shape(0).size()) return;
  ExtentList out = i.shape(0);
  for (std::size_t d = 0; d < out.size(); ++d)
    out[d] = i.builder.extents.product({out[d], (*by)[d]});
  i.out.shape = std::move(out);
}

void pad(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  const auto pads = i.list(1, "pads"), axes = i.list(3, "axes");
  if (!i.in(0).shape) return;
  ExtentList out = i.shape(0);
  const std::size_t n = out.size();
  if (!pads || !axes || !axes->empty() || pads->size() != 2 * n) {
    for (Extent& e : out) e = i.builder.extents.fresh();
  } else {
    for (std::size_t d = 0; d < n; ++d)
      for (const std::size_t side : {d, n + d})
        out[d] = i.builder.extents.sum(out[d], known((*pads)[side]));
  }
  i.out.shape = std::move(out);
}

void gather(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.has_shapes()) return;
  const ExtentList &x = i.shape(0), &ids = i.shape(1);
  const auto at = static_cast<std::ptrdiff_t>(i.axis(x.size(), "axis", 0));
  ExtentList out(x.begin(), x.begin() + at);
  out.insert(out.end(), ids.begin(), ids.end());
  out.insert(out.end(), x.begin() + at + 1, x.end());
  i.out.shape = std::move(out);
}
void like_indices(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  i.out.shape = i.in(1).shape;
}

void gather_tuples(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.has_shapes() || i.shape(1).empty() || !i.shape(1).back().is_known()) return;
  const ExtentList &x = i.shape(0), &ids = i.shape(1);
  const Index batch = i.node.attributes.integer("batch-dims", 0);
  const Index used = i.builder.extents.sum(known(batch), ids.back()).number;
  if (used < 0 || used > std::ssize(x))
    fail("expected at most {} indexed axes, got {}", x.size(), used);
  ExtentList out(ids.begin(), ids.end() - 1);
  out.insert(out.end(), x.begin() + used, x.end());
  i.out.shape = std::move(out);
}

}  // namespace

void add_movement_rules(InferRules& all) {
  const InferRules these{{"reshape", reshape},
                         {"squeeze", squeeze},
                         {"unsqueeze", unsqueeze},
                         {"flatten", flatten},
                         {"transpose", transpose},
                         {"concat", concat},
                         {"slice", slice},
                         {"expand", expand},
                         {"tile", tile},
                         {"pad", pad},
                         {"gather", gather},
                         {"embedding", gather},
                         {"gather-elements", like_indices},
                         {"gather-nd", gather_tuples},
                         {"scatter-elements", infer_same},
                         {"scatter-nd", infer_same},
                         {"reverse-sequence", infer_same}};
  all.insert(these.begin(), these.end());
}

}  // namespace sten
