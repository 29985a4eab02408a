// SPDX-License-Identifier: Apache-2.0
// Translators of operators that move elements.
#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/model/onnx/translate.h"

namespace sten {
namespace {

// Lists that become attributes if known, and inputs otherwise.
struct Lists {
  std::vector<ValueRef> in;
  Attributes attributes;

  void put(OnnxCall& c, std::size_t i, std::string_view onnx, std::string_view sten) {
    if (!c.has_list(i, onnx)) return;
    if (const auto known = c.list(i, onnx))
      attributes.set(sten, Attributes::Value(*known));
    else
      in.push_back(c.in(i));
  }
};

// Adds lists that must all be of one kind: attributes if all are known, otherwise inputs.
void put_lists(OnnxCall& c, Lists& to,
               std::initializer_list<std::pair<const char*, const char*>> names) {
  bool all_known = true;
  std::size_t i = 1;
  for (const auto& [onnx, sten] : names) all_known &= c.list(i++, onnx).has_value();
  i = 1;
  for (const auto& [onnx, sten] : names) {
    if (all_known) {
      if (c.has_list(i, onnx)) to.attributes.set(sten, Attributes::Value(*c.list(i, onnx)));
    } else if (c.has(i)) {
      if (to.in.size() != i) fail("missing input before a computed input");
      to.in.push_back(c.in(i));
    }
    ++i;
  }
}

// The shape as an attribute, if each extent is known, x's own at its axis, or the only other one.
std::optional<std::vector<Index>> shape_attribute(const OnnxCall& c, const ExtentList& to) {
  std::vector<Index> list;
  bool has_open = false;
  for (std::size_t d = 0; d < to.size(); ++d) {
    const auto& x = c.value(0).shape;
    if (to[d].is_known()) {
      list.push_back(to[d].number);
      has_open |= to[d].number == -1;
    } else if (x && d < x->size() && (*x)[d] == to[d]) {
      list.push_back(0);
    } else {
      list.push_back(-2);
    }
  }
  if (std::ranges::count(list, -2) > (has_open ? 0 : 1)) return {};
  std::ranges::replace(list, -2, -1);
  return list;
}

void reshape(OnnxCall& c) {
  const bool copies = c.integer("allowzero", 0) == 0;
  Attributes a;
  if (!c.has(1)) {
    a.set("shape", Attributes::Value(c.integers("shape"))).set("copy-zeros", 1);
    return c.set(0, c.add("reshape", {c.in(0)}, std::move(a)));
  }
  const auto& to = c.value(1).elements;
  const bool has_zero = to && std::ranges::any_of(*to, [](Extent e) { return e.is(0); });
  if (to && (copies || !has_zero)) {
    if (const auto list = shape_attribute(c, *to)) {
      a.set("shape", Attributes::Value(*list)).set("copy-zeros", 1);
      return c.set(0, c.add("reshape", {c.in(0)}, std::move(a)));
    }
  }
  if (Shape all; to && all_known(*to, all)) {
    a.set("shape", Attributes::Value(all));
    return c.set(0, c.add("reshape", {c.in(0)}, std::move(a)));
  }
  if (copies) a.set("copy-zeros", 1);
  c.set(0, c.add("reshape", {c.in(0), c.in(1)}, std::move(a)));
}

void with_axes(OnnxCall& c, const char* op) {
  Lists l{{c.in(0)}, {}};
  l.put(c, 1, "axes", "axes");
  c.set(0, c.add(op, std::move(l.in), std::move(l.attributes)));
}
void squeeze(OnnxCall& c) { with_axes(c, "squeeze"); }
void unsqueeze(OnnxCall& c) { with_axes(c, "unsqueeze"); }

void flatten(OnnxCall& c) {
  c.set(0, c.add("flatten", {c.in(0)}, Attributes().set("axis", c.integer("axis", 1))));
}

void transpose(OnnxCall& c) {
  std::vector<Index> axes = c.integers("perm");
  if (axes.empty()) {
    const Index rank = std::ssize(c.shape(0));
    for (Index d = rank; d-- > 0;) axes.push_back(d);
  }
  if (std::ranges::is_sorted(axes)) return c.set(0, c.in(0));
  c.set(0, c.add("transpose", {c.in(0)}, Attributes().set("axes", Attributes::Value(axes))));
}

void concat(OnnxCall& c) {
  c.set(0, c.add("concat", c.all_in(), Attributes().set("axis", c.integer("axis", 1))));
}

void slice(OnnxCall& c) {
  Lists l{{c.in(0)}, {}};
  put_lists(c, l, {{"starts", "begins"}, {"ends", "ends"}, {"axes", "axes"}, {"", "steps"}});
  c.set(0, c.add("slice", std::move(l.in), std::move(l.attributes)));
}

// One slice per part.
void split(OnnxCall& c) {
  const Index axis = c.integer("axis", 0);
  const Index parts = c.integer("num_outputs", std::ssize(c.node.outputs));
  if (parts != std::ssize(c.node.outputs)) fail("expected {} outputs, got {}", parts, c.outputs());
  std::vector<Index> sizes;
  if (c.has_list(1, "split")) {
    const auto known = c.list(1, "split");
    if (!known) fail("split must be known at import");
    sizes = *known;
  } else {
    const ExtentList& x = c.shape(0);
    const Index d = axis < 0 ? axis + std::ssize(x) : axis;
    if (d < 0 || d >= std::ssize(x)) fail("axis {} is out of range for {} axes", axis, x.size());
    if (!x[d].is_known()) fail("extent along the axis must be known at import");
    const Index each = ceil_div(x[d].number, parts);
    for (Index i = 0; i < parts; ++i)
      sizes.push_back(std::clamp<Index>(x[d].number - i * each, 0, each));
  }
  if (std::ssize(sizes) != parts) fail("expected {} sizes, got {}", parts, sizes.size());
  Index begin = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0) fail("split: expected sizes >= 0, got {}", sizes[i]);
    const Index end = c.builder.extents.sum(known(begin), known(sizes[i])).number;
    if (c.wants(i))
      c.set(i, c.add("slice", {c.in(0)},
                     Attributes().set("axis", axis).set("begin", begin).set("end", end)));
    begin = end;
  }
}

void expand(OnnxCall& c) {
  Lists l{{c.in(0)}, {}};
  l.put(c, 1, "shape", "shape");
  c.set(0, c.add("expand", std::move(l.in), std::move(l.attributes)));
}
void tile(OnnxCall& c) {
  Lists l{{c.in(0)}, {}};
  l.put(c, 1, "repeats", "repeats");
  c.set(0, c.add("tile", std::move(l.in), std::move(l.attributes)));
}

void pad(OnnxCall& c) {
  Lists l{{c.in(0)}, {}};
  l.attributes.set("mode", c.word("mode", "constant"));
  if (c.opset < 11) {
    l.attributes.set("pads", Attributes::Value(c.integers(c.opset < 2 ? "paddings" : "pads")));
    l.attributes.set("value", c.number("value", 0));
    return c.set(0, c.add("pad", std::move(l.in), std::move(l.attributes)));
  }
  double value = 0;
  bool is_number = true;
  if (c.has(2)) {
    const auto& given = c.value(2).constant;
    is_number = given && given->size() == 1 && given->dtype() == DType::F32;
    if (is_number) value = given->values.as<float>()[0];
  }
  const auto pads = c.list(1, "pads"), axes = c.list(3, "");
  if (pads && axes && is_number) {
    l.attributes.set("pads", Attributes::Value(*pads)).set("value", value);
    if (c.has(3)) l.attributes.set("axes", Attributes::Value(*axes));
  } else {
    for (std::size_t i = 1; i < c.inputs(); ++i) {
      if (i == 2 && !c.has(2) && c.has(3)) {
        Dense zero = Dense::zeros(c.dtype(0), {});
        l.in.push_back(c.builder.add_constant(std::move(zero)));
      } else if (c.has(i)) {
        l.in.push_back(c.in(i));
      }
    }
  }
  c.set(0, c.add("pad", std::move(l.in), std::move(l.attributes)));
}

void gather(OnnxCall& c) {
  c.set(0, c.add("gather", {c.in(0), c.in(1)}, Attributes().set("axis", c.integer("axis", 0))));
}
void gather_elements(OnnxCall& c) {
  c.set(0, c.add("gather-elements", {c.in(0), c.in(1)},
                 Attributes().set("axis", c.integer("axis", 0))));
}
void gather_nd(OnnxCall& c) {
  c.set(0, c.add("gather-nd", {c.in(0), c.in(1)},
                 Attributes().set("batch-dims", c.integer("batch_dims", 0))));
}
void scatter_elements(OnnxCall& c) {
  c.set(0, c.add("scatter-elements", {c.in(0), c.in(1), c.in(2)},
                 Attributes()
                     .set("axis", c.integer("axis", 0))
                     .set("reduction", c.word("reduction", "none"))));
}
void scatter_nd(OnnxCall& c) {
  c.set(0, c.add("scatter-nd", {c.in(0), c.in(1), c.in(2)},
                 Attributes().set("reduction", c.word("reduction", "none"))));
}

void compress(OnnxCall& c) {
  Attributes a;
  if (c.has_attribute("axis")) a.set("axis", c.integer("axis", 0));
  c.set(0, c.add("compress", {c.in(0), c.in(1)}, std::move(a)));
}
void unique(OnnxCall& c) {
  Attributes a;
  a.set("sorted", c.integer("sorted", 1));
  if (c.has_attribute("axis")) a.set("axis", c.integer("axis", 0));
  constexpr const char* parts[] = {"unique", "unique-indices", "unique-inverse", "unique-counts"};
  for (std::size_t i = 0; i < std::size(parts); ++i)
    if (c.wants(i)) c.set(i, c.add(parts[i], {c.in(0)}, a));
}
void reverse_sequence(OnnxCall& c) {
  c.set(0, c.add("reverse-sequence", {c.in(0), c.in(1)},
                 Attributes()
                     .set("batch-axis", c.integer("batch_axis", 1))
                     .set("time-axis", c.integer("time_axis", 0))));
}

void trilu(OnnxCall& c) {
  Lists l{{c.in(0)}, {}};
  l.attributes.set("upper", c.integer("upper", 1));
  if (c.has(1)) {
    const auto k = c.list(1, "");
    if (k && k->size() == 1)
      l.attributes.set("k", k->front());
    else
      l.in.push_back(c.in(1));
  }
  c.set(0, c.add("trilu", std::move(l.in), std::move(l.attributes)));
}

// Both are a reshape, a transpose and a reshape.
void move_depth(OnnxCall& c, const std::vector<Index>& first, const std::vector<Index>& axes,
                const std::vector<Index>& last) {
  const auto to = [&](ValueRef x, const std::vector<Index>& shape) {
    return c.add("reshape", {x},
                 Attributes().set("shape", Attributes::Value(shape)).set("copy-zeros", 1));
  };
  const ValueRef parted = to(c.in(0), first);
  c.set(0,
        to(c.add("transpose", {parted}, Attributes().set("axes", Attributes::Value(axes))), last));
}
std::vector<Index> image(OnnxCall& c) {
  Shape x;
  if (c.shape(0).size() != 4 || !c.shape(0)[1].is_known() || !c.shape(0)[2].is_known() ||
      !c.shape(0)[3].is_known())
    fail("extents of the image must be known at import");
  for (std::size_t d = 1; d < 4; ++d) x.push_back(c.shape(0)[d].number);
  return x;
}
Index times(OnnxCall& c, Index a, Index b) {
  return c.builder.extents.product({known(a), known(b)}).number;
}
void depth_to_space(OnnxCall& c) {
  const Index b = c.integer("blocksize", 1);
  const std::vector<Index> x = image(c);
  if (x[0] % (b * b) != 0) fail("{} channels are not divisible by blocks of {} x {}", x[0], b, b);
  const Index depth = x[0] / (b * b);
  const std::vector<Index> last{0, depth, times(c, x[1], b), times(c, x[2], b)};
  if (c.word("mode", "DCR") == "DCR")
    move_depth(c, {0, b, b, depth, x[1], x[2]}, {0, 3, 4, 1, 5, 2}, last);
  else
    move_depth(c, {0, depth, b, b, x[1], x[2]}, {0, 1, 4, 2, 5, 3}, last);
}
void space_to_depth(OnnxCall& c) {
  const Index b = c.integer("blocksize", 1);
  const std::vector<Index> x = image(c);
  if (x[1] % b != 0 || x[2] % b != 0)
    fail("{} x {} pixels are not divisible by blocks of {}", x[1], x[2], b);
  move_depth(c, {0, x[0], x[1] / b, b, x[2] / b, b}, {0, 3, 5, 1, 2, 4},
             {0, times(c, x[0], b * b), x[1] / b, x[2] / b});
}

}  // namespace

void add_movement_translators(OnnxTranslators& all) {
  const OnnxTranslators these{{"Reshape", reshape},
                              {"Squeeze", squeeze},
                              {"Unsqueeze", unsqueeze},
                              {"Flatten", flatten},
                              {"Transpose", transpose},
                              {"Concat", concat},
                              {"Slice", slice},
                              {"Split", split},
                              {"Expand", expand},
                              {"Tile", tile},
                              {"Pad", pad},
                              {"Gather", gather},
                              {"GatherElements", gather_elements},
                              {"GatherND", gather_nd},
                              {"ScatterElements", scatter_elements},
                              {"Scatter", scatter_elements},
                              {"ScatterND", scatter_nd},
                              {"Compress", compress},
                              {"ReverseSequence", reverse_sequence},
                              {"Trilu", trilu},
                              {"Unique", unique},
                              {"DepthToSpace", depth_to_space},
                              {"SpaceToDepth", space_to_depth}};
  all.insert(these.begin(), these.end());
}

}  // namespace sten
