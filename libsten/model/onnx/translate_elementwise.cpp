// SPDX-License-Identifier: Apache-2.0
// Translators of elementwise functions.
#include <algorithm>

#include "libsten/compute/ops/elementwise/binary.h"
#include "libsten/compute/ops/elementwise/comparison.h"
#include "libsten/compute/ops/elementwise/unary_rows.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/onnx/weights.h"
#include "libsten/model/fusion/fuse.h"
#include "libsten/model/onnx/translate.h"

namespace sten {
namespace {

// Names in sten of operators with the same inputs, and no attributes.
const std::map<std::string_view, std::string_view>& same_operators() {
  static const auto all = [] {
    std::map<std::string_view, std::string_view> m{
        {"IsNaN", "is-nan"}, {"Not", "not"}, {"Where", "where"}};
    for (const BinaryRow& row : binary_rows())
      if (!row.onnx.empty()) m[row.onnx] = row.name;
    for (const ComparisonRow& row : comparison_rows()) m[row.onnx] = row.name;
    return m;
  }();
  return all;
}
void same_operator(OnnxCall& c) {
  c.set(0, c.add(same_operators().at(c.node.op_type), c.all_in()));
}

// An operator of any number of inputs, as a chain of binary ones.
ValueRef folded(OnnxCall& c, std::string_view op) {
  ValueRef all = c.in(0);
  for (std::size_t i = 1; i < c.inputs(); ++i) all = c.add(op, {all, c.in(i)});
  return all;
}
void variadic(OnnxCall& c) {
  c.set(0, folded(c, std::ranges::find(binary_rows(), c.node.op_type, &BinaryRow::variadic)->name));
}
void mean_of_inputs(OnnxCall& c) {
  const double by = 1.0 / static_cast<double>(c.inputs());
  c.set(0, c.add("scale", {folded(c, "add")}, Attributes().set("by", by)));
}

void unary(OnnxCall& c) {
  const UnaryRow& row = *std::ranges::find(unary_rows(), c.node.op_type, &UnaryRow::onnx);
  Attributes all;
  for (const UnaryAttribute& a : {row.a, row.b})
    if (!a.name.empty()) all.set(a.name, c.number(a.name, a.fallback));
  c.set(0, c.add(row.name, {c.in(0)}, std::move(all)));
}

void gelu(OnnxCall& c) {
  const std::string how = c.word("approximate", "none");
  c.set(0, c.add(how == "tanh" ? "gelu-tanh" : "gelu", {c.in(0)}));
}

// Before opset 7, a slope of one axis is per channel.
void p_relu(OnnxCall& c) {
  ValueRef slope = c.in(1);
  std::vector<Index> after;
  if (c.opset < 7 && c.shape(1).size() == 1 && !c.shape(1)[0].is(1))
    for (std::size_t d = 2; d < c.shape(0).size(); ++d) after.push_back(static_cast<Index>(d) - 1);
  if (!after.empty())
    slope = c.add("unsqueeze", {slope}, Attributes().set("axes", Attributes::Value(after)));
  c.set(0, c.add("p-relu", {c.in(0), slope}));
}

void mod(OnnxCall& c) {
  c.set(0, c.add("mod", {c.in(0), c.in(1)}, Attributes().set("fmod", c.integer("fmod", 0))));
}
void bit_shift(OnnxCall& c) {
  c.set(0,
        c.add("bit-shift", {c.in(0), c.in(1)},
              Attributes().set("direction", c.word("direction", "") == "LEFT" ? "left" : "right")));
}
void is_infinite(OnnxCall& c) {
  c.set(0, c.add("is-inf", {c.in(0)},
                 Attributes()
                     .set("detect-negative", c.integer("detect_negative", 1))
                     .set("detect-positive", c.integer("detect_positive", 1))));
}

// Bounds are attributes before opset 11, and inputs since.
void clip(OnnxCall& c) {
  Attributes a;
  bool is_number = true;
  for (const auto& [i, name] : {std::pair{1, "min"}, {2, "max"}}) {
    const auto at = static_cast<std::size_t>(i);
    std::optional<double> bound;
    if (c.has_attribute(name)) bound = c.number(name, 0);
    if (c.has(at)) {
      bound = scalar_in(c.builder, c.in(at));
      is_number &= bound.has_value();
    }
    if (bound) a.set(name, *bound);
  }
  const auto& dtype = c.value(0).dtype;
  const bool is_float = !dtype || dtype == DType::F32 || dtype == DType::F64 ||
                        dtype == DType::F16 || dtype == DType::BF16;
  if (is_number && is_float) return c.set(0, c.add("clip", {c.in(0)}, std::move(a)));
  ValueRef x = c.in(0);
  if (c.has(1)) x = c.add("max", {x, c.in(1)});
  if (c.has(2)) x = c.add("min", {x, c.in(2)});
  c.set(0, x);
}

void cast_to(OnnxCall& c, DType to) {
  if (c.value(0).dtype == to) return c.set(0, c.in(0));
  c.set(0, c.add("cast", {c.in(0)}, Attributes().set("to", std::string(name_of(to)))));
}
void cast(OnnxCall& c) { cast_to(c, onnx_dtype(static_cast<std::int32_t>(c.integer("to", 0)))); }
void cast_like(OnnxCall& c) { cast_to(c, c.dtype(1)); }

void identity(OnnxCall& c) { c.set(0, c.in(0)); }

double dropped_share(OnnxCall& c) {
  if (!c.has(1)) return 0.5;
  const auto p = scalar_in(c.builder, c.in(1));
  if (!p || !(*p >= 0 && *p < 1)) fail("ratio: expected a constant in [0, 1)");
  return *p;
}

// Whether a dropout drops elements: the last input, since opset 12.
bool drops(OnnxCall& c) {
  if (!c.has(2) || c.training.mode == OnnxMode::evaluation) return false;
  const auto& training = c.value(2).elements;
  if (!training || training->size() != 1 || !training->front().is_known())
    fail("training_mode must be known at import");
  return !training->front().is(0) && dropped_share(c) > 0;
}

// The identity, except in training.
void dropout(OnnxCall& c) {
  if (drops(c)) {
    if (c.training.mode == OnnxMode::exported || c.wants(1))
      fail("dropout of training is unsupported");
    return c.set(0, add_dropout(c, c.in(0), dropped_share(c), c.node.outputs[0]));
  }
  c.set(0, c.in(0));
  if (!c.wants(1)) return;
  Dense yes = Dense::zeros(DType::BOOL, {1});
  yes.values.mutate<std::uint8_t>()[0] = 1;
  c.set(1, c.add("constant-of-shape",
                 {c.add("shape", {c.in(0)}), c.builder.add_constant(std::move(yes))}));
}

}  // namespace

void add_elementwise_translators(OnnxTranslators& all) {
  const OnnxTranslators others{{"Identity", identity},  {"Mean", mean_of_inputs},
                               {"Gelu", gelu},          {"Mod", mod},
                               {"PRelu", p_relu},       {"Clip", clip},
                               {"BitShift", bit_shift}, {"IsInf", is_infinite},
                               {"Cast", cast},          {"CastLike", cast_like},
                               {"Dropout", dropout}};
  all.insert(others.begin(), others.end());
  for (const UnaryRow& row : unary_rows())
    if (!row.onnx.empty()) all.emplace(row.onnx, unary);
  for (const BinaryRow& row : binary_rows())
    if (!row.variadic.empty()) all.emplace(row.variadic, variadic);
  for (const auto& op : same_operators()) all.emplace(op.first, same_operator);
}

}  // namespace sten
