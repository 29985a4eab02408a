// SPDX-License-Identifier: Apache-2.0
// Translators of matrix products.
#include "libsten/core/base/error.h"
#include "libsten/model/onnx/translate.h"

namespace sten {
namespace {

Attributes axes(std::vector<Index> list) {
  return Attributes().set("axes", Attributes::Value(std::move(list)));
}

// A vector is a row on the left and a column on the right.
void matmul(OnnxCall& c) {
  ValueRef a = c.in(0), b = c.in(1);
  const auto is_vector = [&](ValueRef v) {
    return c.builder[v].shape && c.builder[v].shape->size() == 1;
  };
  const bool is_row = is_vector(a), is_column = is_vector(b);
  if (is_row) a = c.add("unsqueeze", {a}, axes({0}));
  if (is_column) b = c.add("unsqueeze", {b}, axes({1}));
  ValueRef y = c.add("matmul", {a, b});
  std::vector<Index> gone;
  if (is_row) gone.push_back(-2);
  if (is_column) gone.push_back(-1);
  if (!gone.empty()) y = c.add("squeeze", {y}, axes(gone));
  c.set(0, y);
}

// alpha * a * b + beta * c.
void gemm(OnnxCall& c) {
  const double alpha = c.number("alpha", 1), beta = c.number("beta", 1);
  const auto scaled = [&](ValueRef x, double by) {
    return by == 1 ? x : c.add("scale", {x}, Attributes().set("by", by));
  };
  ValueRef a = c.in(0);
  if (c.integer("transA", 0)) a = c.add("transpose", {a}, axes({1, 0}));
  ValueRef y =
      c.integer("transB", 0) ? c.add("linear", {a, c.in(1)}) : c.add("matmul", {a, c.in(1)});
  y = scaled(y, alpha);
  if (c.has(2) && beta != 0) y = c.add("add", {y, scaled(c.in(2), beta)});
  c.set(0, y);
}

void einsum(OnnxCall& c) {
  c.set(0, c.add("einsum", c.all_in(), Attributes().set("equation", c.word("equation", ""))));
}

}  // namespace

void add_product_translators(OnnxTranslators& all) {
  const OnnxTranslators these{{"MatMul", matmul}, {"Gemm", gemm}, {"Einsum", einsum}};
  all.insert(these.begin(), these.end());
}

}  // namespace sten
