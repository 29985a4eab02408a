// SPDX-License-Identifier: Apache-2.0
// Translators of constants and shapes.
#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/files/onnx/weights.h"
#include "libsten/model/onnx/translate.h"

namespace sten {
namespace {

template <class T>
Dense dense_of(DType dtype, Shape shape, const std::vector<T>& list) {
  Dense x = Dense::zeros(dtype, std::move(shape));
  std::ranges::copy(list, x.values.mutate<T>().begin());
  return x;
}

void constant(OnnxCall& c) {
  const auto set = [&](Dense x) {
    c.set(0, c.builder.add_constant(std::move(x), std::string(c.node.outputs[0])));
  };
  if (const OnnxTensor* t = c.tensor("value")) return set(onnx_constant(*t));
  if (c.has_attribute("value_float"))
    return set(dense_of<float>(DType::F32, {}, {static_cast<float>(c.number("value_float", 0))}));
  if (c.has_attribute("value_int"))
    return set(dense_of<std::int64_t>(DType::I64, {}, {c.integer("value_int", 0)}));
  if (c.has_attribute("value_ints")) {
    const std::vector<std::int64_t> list = c.integers("value_ints");
    return set(dense_of(DType::I64, {std::ssize(list)}, list));
  }
  if (c.has_attribute("value_floats")) {
    const std::vector<float>& list = c.node.find("value_floats")->numbers;
    return set(dense_of(DType::F32, {std::ssize(list)}, list));
  }
  fail("value: expected a tensor or a list of numbers");
}

void constant_of_shape(OnnxCall& c) {
  Dense value = Dense::zeros(DType::F32, {1});
  if (const OnnxTensor* t = c.tensor("value")) value = onnx_constant(*t);
  if (value.size() != 1) fail("value: expected one element, got {}", value.size());
  value.extents = {1};
  c.set(0, c.add("constant-of-shape", {c.in(0), c.builder.add_constant(std::move(value))}));
}

void range(OnnxCall& c) { c.set(0, c.add("range", {c.in(0), c.in(1), c.in(2)})); }

void shape(OnnxCall& c) {
  Attributes a;
  if (c.has_attribute("start")) a.set("begin", c.integer("start", 0));
  if (c.has_attribute("end")) a.set("end", c.integer("end", 0));
  c.set(0, c.add("shape", {c.in(0)}, std::move(a)));
}
void size(OnnxCall& c) { c.set(0, c.add("size", {c.in(0)})); }

void eye_like(OnnxCall& c) {
  Attributes a;
  a.set("k", c.integer("k", 0));
  if (c.has_attribute("dtype"))
    a.set("dtype",
          std::string(name_of(onnx_dtype(static_cast<std::int32_t>(c.integer("dtype", 0))))));
  c.set(0, c.add("eye-like", {c.in(0)}, std::move(a)));
}
void one_hot(OnnxCall& c) {
  c.set(0, c.add("one-hot", {c.in(0), c.in(1), c.in(2)},
                 Attributes().set("axis", c.integer("axis", -1))));
}
void non_zero(OnnxCall& c) { c.set(0, c.add("non-zero", {c.in(0)})); }

}  // namespace

void add_constant_translators(OnnxTranslators& all) {
  const OnnxTranslators these{{"Constant", constant}, {"ConstantOfShape", constant_of_shape},
                              {"Range", range},       {"Shape", shape},
                              {"Size", size},         {"EyeLike", eye_like},
                              {"OneHot", one_hot},    {"NonZero", non_zero}};
  all.insert(these.begin(), these.end());
}

}  // namespace sten
