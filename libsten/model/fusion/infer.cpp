// SPDX-License-Identifier: Apache-2.0
// Shape inference of dtypes and of extents, some of them symbolic.
#include "libsten/model/fusion/infer.h"

#include "libsten/compute/ops/elementwise/binary.h"
#include "libsten/compute/ops/elementwise/comparison.h"
#include "libsten/compute/ops/elementwise/unary_rows.h"

namespace sten {

void infer_same(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  i.out.shape = i.in(0).shape;
}

namespace {

void repeated(Inference& i) {
  if (!i.has_shapes()) return;
  ExtentList all = i.shape(0);
  for (std::size_t k = 1; k < i.inputs(); ++k) all = broadcast(i.builder, all, i.shape(k));
  i.out.shape = std::move(all);
}
void binary(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  repeated(i);
}
void comparison(Inference& i) {
  i.out.dtype = DType::BOOL;
  repeated(i);
}
void infer_where(Inference& i) {
  i.out.dtype = i.in(1).dtype;
  repeated(i);
}

void cast(Inference& i) {
  i.out.dtype = dtype_from(i.node.attributes.word("to", ""));
  i.out.shape = i.in(0).shape;
}

void linear(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.in(0).shape || !i.in(1).shape || i.shape(1).size() != 2 || i.shape(0).empty()) return;
  i.out.shape = i.shape(0);
  i.out.shape->back() = i.shape(1)[0];
}

void matmul(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.has_shapes()) return;
  const ExtentList &a = i.shape(0), &b = i.shape(1);
  if (a.size() < 2 || b.size() < 2) return;
  ExtentList out = broadcast(i.builder, {a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  out.push_back(a[a.size() - 2]);
  out.push_back(b.back());
  i.out.shape = std::move(out);
}

// q [B, T, heads D], v [B, S, kv_heads E]: [B, T, heads E].
void attention(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  if (!i.in(0).shape || !i.in(2).shape || i.shape(0).size() != 3 || i.shape(2).size() != 3) return;
  const Index heads = i.node.attributes.integer("heads", 1);
  const Index shared = i.node.attributes.integer("kv_heads", heads);
  const Extent v = i.shape(2).back();
  i.out.shape = i.shape(0);
  if (shared == heads)
    i.out.shape->back() = v;
  else
    i.out.shape->back() =
        v.is_known() && shared > 0 ? known(v.number / shared * heads) : i.builder.extents.fresh();
}

void range(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  const auto number = [&](std::size_t k) -> std::optional<Extent> {
    const auto& e = i.in(k).elements;
    return e && e->size() == 1 ? std::optional(e->front()) : std::nullopt;
  };
  const auto first = number(0), limit = number(1), node = number(2);
  Extent n = i.builder.extents.fresh();
  if (first && limit && node && first->is_known() && limit->is_known() && node->is_known() &&
      node->number != 0) {
    const Index by = node->number;
    const Extent span = by > 0 ? i.builder.extents.difference(*limit, *first)
                               : i.builder.extents.difference(*first, *limit);
    n = known(span.number <= 0 ? 0 : ceil_div(span.number, magnitude(by)));
  } else if (first && limit && node && node->is(1)) {
    if (const Extent e = i.builder.extents.difference(*limit, *first);
        i.builder.extents.is_natural(e))
      n = e;
  }
  i.out.shape = ExtentList{n};
}

void infer_non_zero(Inference& i) {
  i.out.dtype = DType::I64;
  if (!i.in(0).shape) return;
  i.out.shape = ExtentList{known(std::ssize(i.shape(0))), i.builder.extents.fresh()};
}

void filled(Inference& i) {
  i.out.dtype = i.inputs() > 1 ? i.in(1).dtype : DType::F32;
  if (i.in(0).elements) i.out.shape = *i.in(0).elements;
}

void shape_of(Inference& i) {
  i.out.dtype = DType::I64;
  if (!i.in(0).shape) return;
  const Index rank = std::ssize(i.shape(0));
  const auto place = [&](Index p) { return std::clamp<Index>(p < 0 ? p + rank : p, 0, rank); };
  const Index begin = place(i.node.attributes.integer("begin", 0)),
              end = place(i.node.attributes.integer("end", rank));
  i.out.shape = ExtentList{known(std::max<Index>(0, end - begin))};
}
void size_of_all(Inference& i) {
  i.out.dtype = DType::I64;
  i.out.shape = ExtentList{};
}

// "[32, ?, 10]".
std::string extents_text(const ExtentList& list) {
  std::string text;
  for (const Extent& e : list)
    text += (text.empty() ? "" : ", ") + (e.is_known() ? fmt::format("{}", e.number) : "?");
  return "[" + text + "]";
}

// Logits [..., classes] and labels [...].
void cross_entropy(Inference& i) {
  i.out.dtype = i.in(0).dtype;
  i.out.shape = ExtentList{};
  if (!i.has_shapes() || i.inputs() != 2) return;
  const ExtentList &logits = i.shape(0), &labels = i.shape(1);
  const auto differ = [](const Extent& a, const Extent& b) {
    return a.is_known() && b.is_known() && a != b;
  };
  if (logits.size() != labels.size() + 1 ||
      !std::ranges::equal(labels, std::span(logits).first(labels.size()), std::not_fn(differ)))
    fail("expected labels of the logits' shape {} without the last axis, got {}",
         extents_text(logits), extents_text(labels));
}

InferRules elementwise_rules() {
  InferRules m;
  for (const UnaryRow& row : unary_rows()) m[row.name] = infer_same;
  m["dropout"] = m["identity"] = m["not"] = infer_same;
  for (const BinaryRow& row : binary_rows()) m[row.name] = binary;
  m["mod"] = m["bit-shift"] = binary;
  for (const ComparisonRow& row : comparison_rows()) m[row.name] = comparison;
  m["is-nan"] = m["is-inf"] = comparison;
  m["where"] = infer_where;
  m["cast"] = cast;
  return m;
}

const InferRules& rules() {
  static const InferRules all = [] {
    InferRules m = elementwise_rules();
    add_movement_rules(m);
    add_reduction_rules(m);
    add_image_rules(m);
    m["trilu"] = m["rotary"] = m["mixture-of-experts"] = m["lora"] = infer_same;
    m["attention"] = attention;
    m["linear"] = linear;
    m["cross-entropy"] = cross_entropy;
    m["matmul"] = matmul;
    m["range"] = range;
    m["non-zero"] = infer_non_zero;
    m["constant-of-shape"] = filled;
    m["shape"] = shape_of;
    m["size"] = size_of_all;
    return m;
  }();
  return all;
}

}  // namespace

bool is_elementwise(std::string_view op) {
  static const InferRules all = elementwise_rules();
  return all.contains(op);
}

ExtentList broadcast(GraphBuilder& builder, const ExtentList& a, const ExtentList& b) {
  const ExtentList &longer = a.size() < b.size() ? b : a, &shorter = a.size() < b.size() ? a : b;
  ExtentList out = longer;
  const std::size_t more = longer.size() - shorter.size();
  for (std::size_t d = 0; d < shorter.size(); ++d) {
    Extent& x = out[more + d];
    const Extent y = shorter[d];
    if (x == y || y.is(1)) continue;
    if (x.is(1))
      x = y;
    else if (x.is_known() && y.is_known())
      fail("extents {} and {} at axis {} cannot be broadcast", x.number, y.number, more + d);
    else if (y.is_known())
      x = y;  // the other is 1 or equal
    else if (!x.is_known())
      x = builder.extents.fresh();
  }
  return out;
}

BuilderValue infer(GraphBuilder& builder, const BuilderNode& node) {
  Inference i{builder, node, {}};
  const auto rule = rules().find(node.op.text());
  if (rule != rules().end()) rule->second(i);
  i.out.elements = infer_elements(builder, node, i.out);
  return std::move(i.out);
}

}  // namespace sten
