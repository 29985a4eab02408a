// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "libsten/model/fusion/fuse.h"

namespace sten {
namespace {

// A product of two values and a number.
struct Product {
  ValueRef a = 0, b = 0;
  double by = 1;
};
// Matches (a * b) * 0.5, (a * 0.5) * b and other orders; none for more factors.
std::optional<Product> product_of(const GraphBuilder& builder, ValueRef v) {
  const Scaled outer = unscaled(builder, v);
  const BuilderNode* s = builder.node_of(outer.x, "mul");
  if (!s) return {};
  const Scaled a = unscaled(builder, s->in[0]), b = unscaled(builder, s->in[1]);
  return Product{a.x, b.x, outer.by * a.by * b.by};
}

// x, if the value is f(x) + 1.
std::optional<ValueRef> one_more(const GraphBuilder& builder, ValueRef v, const char* f) {
  const BuilderNode* sum = builder.node_of(v, "add");
  if (!sum) return {};
  const auto other = beside(*sum, [&](ValueRef r) { return is_about(scalar_in(builder, r), 1); });
  const BuilderNode* s = other ? builder.node_of(*other, f) : nullptr;
  return s ? std::optional(s->in[0]) : std::nullopt;
}

bool is_cube(const GraphBuilder& builder, ValueRef v, ValueRef x) {
  if (const BuilderNode* s = builder.node_of(v, "pow"))
    return s->in[0] == x && is_about(scalar_in(builder, s->in[1]), 3);
  const BuilderNode* s = builder.node_of(v, "mul");
  return s && beside(*s, [&](ValueRef r) { return square_root(builder, r) == x; }) == x;
}

bool is_erf_of(const GraphBuilder& builder, ValueRef v, ValueRef x) {
  const Scaled z = unscaled(builder, v);
  return z.x == x && is_about(z.by, std::numbers::sqrt2 / 2);
}

// Matches sqrt(2 / pi) * (x + 0.044715 * x^3).
bool is_tanh_of(const GraphBuilder& builder, ValueRef v, ValueRef x) {
  const Scaled z = unscaled(builder, v);
  const BuilderNode* sum = builder.node_of(z.x, "add");
  if (!sum || !is_about(z.by, std::sqrt(2 / std::numbers::pi))) return false;
  return beside(*sum, [&](ValueRef r) {
           const Scaled cube = unscaled(builder, r);
           return is_about(cube.by, 0.044715) && is_cube(builder, cube.x, x);
         }) == x;
}

template <class F>
Index fuse_each(GraphBuilder& builder, const char* op, const char* function, F&& is_argument) {
  for (std::size_t i = 0; i < builder.steps().size(); ++i) {
    const ValueRef out = builder.steps()[i].out;
    const auto p = product_of(builder, out);
    if (!p || !is_about(p->by, 0.5)) continue;
    for (const auto& [x, gate] : {std::pair{p->a, p->b}, {p->b, p->a}}) {
      const auto z = one_more(builder, gate, function);
      if (!z || !is_argument(*z, x)) continue;
      BuilderNode& node = builder.change(out);
      node.op = op;
      node.in = {x};
      node.attributes = {};
      break;
    }
  }
  return count_needed(builder, op);
}

}  // namespace

Index fuse_gelu(GraphBuilder& builder) {
  return fuse_each(builder, "gelu", "erf",
                   [&](ValueRef z, ValueRef x) { return is_erf_of(builder, z, x); });
}
Index fuse_gelu_tanh(GraphBuilder& builder) {
  return fuse_each(builder, "gelu-tanh", "tanh",
                   [&](ValueRef z, ValueRef x) { return is_tanh_of(builder, z, x); });
}

}  // namespace sten
