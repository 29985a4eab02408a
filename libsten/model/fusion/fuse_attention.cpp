// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "libsten/model/fusion/fuse.h"

namespace sten {
namespace {

// The composition of two transposes: `first`, then `last`.
Attributes::List joined(const Attributes::List& first, const Attributes::List& last) {
  Attributes::List all;
  for (const Index d : last)
    if (d >= 0 && d < std::ssize(first)) all.push_back(first[static_cast<std::size_t>(d)]);
  return all;
}

const Attributes::List tokens_inside{0, 2, 1, 3}, channels_inside{0, 2, 3, 1};

// Heads of x[B, T, heads * D] with permuted axes, times a number.
struct Heads {
  ValueRef x = 0;
  Index heads = 0, width = 0;
  double by = 1;
};
std::optional<Heads> heads_of(const GraphBuilder& builder, ValueRef v,
                              const Attributes::List& axes) {
  Heads h;
  Attributes::List order{0, 1, 2, 3};
  for (;;) {
    const Scaled s = unscaled(builder, v);
    h.by *= s.by;
    v = s.x;
    const BuilderNode* t = builder.node_of(v, "transpose");
    if (!t || t->attributes.list("axes", {}).size() != 4) break;
    order = joined(t->attributes.list("axes", {}), order);
    v = t->in[0];
  }
  const BuilderNode* parted = builder.node_of(v, "reshape");
  if (!parted || order != axes) return {};
  h.x = parted->in[0];
  const auto &x = builder[h.x].shape, &y = builder[v].shape;
  if (!x || !y || x->size() != 3 || y->size() != 4) return {};
  if ((*x)[0] != (*y)[0] || (*x)[1] != (*y)[1] || !(*y)[2].is_known() || !(*y)[3].is_known())
    return {};
  h.heads = (*y)[2].number;
  h.width = (*y)[3].number;
  if (h.heads < 1 || h.width < 1 || !(*x)[2].is(h.heads * h.width)) return {};
  return h;
}

// Replaces a transpose of the last axes of [B, H, S, D], done as [B * H, S, D], by one transpose.
void merge_batches(GraphBuilder& builder, ValueRef out) {
  const BuilderNode* last = builder.node_of(out, "reshape");
  const BuilderNode* transposed = last ? builder.node_of(last->in[0], "transpose") : nullptr;
  const BuilderNode* first = transposed ? builder.node_of(transposed->in[0], "reshape") : nullptr;
  if (!first || transposed->attributes.list("axes", {}) != Attributes::List{0, 2, 1}) return;
  const auto &x = builder[first->in[0]].shape, &rows = builder[first->out].shape,
             &y = builder[out].shape;
  if (!x || !rows || !y || x->size() != 4 || y->size() != 4) return;
  const ExtentList &a = *x, &r = *rows, &b = *y;
  if (r[1] != a[2] || r[2] != a[3] || b != ExtentList{a[0], a[1], a[3], a[2]}) return;
  const ValueRef from = first->in[0];
  BuilderNode& node = builder.change(out);
  node.op = "transpose";
  node.in = {from};
  node.attributes = Attributes().set("axes", Attributes::List{0, 1, 3, 2});
}

// s, if the value is s with NaN replaced by 0, as attention has it: a softmax of finite scores and a
// bias is NaN where the bias of all keys is -inf.
std::optional<ValueRef> without_nan(const GraphBuilder& builder, ValueRef v) {
  const BuilderNode* choice = builder.node_of(v, "where");
  const BuilderNode* which = choice ? builder.node_of(choice->in[0], "is-nan") : nullptr;
  if (!which || scalar_in(builder, choice->in[1]) != 0.0 || which->in[0] != choice->in[2])
    return {};
  return choice->in[2];
}

struct Attention {
  ValueRef q, k, v;
  std::optional<ValueRef> bias;
  bool is_where;  // the bias is still where(seen, scores, least)
  Index heads, width;
  double scale;
};

// Matches [bias +] scale * q k^T, or where(seen, scale * q k^T, least).
std::optional<Attention> scores(const GraphBuilder& builder, ValueRef from,
                                const std::vector<Index>& uses) {
  const auto plain = [&](ValueRef r) -> std::optional<Attention> {
    const Scaled s = unscaled(builder, r);
    const BuilderNode* product = builder.node_of(s.x, "matmul");
    if (!product) return {};
    const auto q = heads_of(builder, product->in[0], tokens_inside);
    const auto k = heads_of(builder, product->in[1], channels_inside);
    if (!q || !k || q->heads != k->heads || q->width != k->width) return {};
    return Attention{q->x, k->x, 0, {}, false, q->heads, q->width, s.by * q->by * k->by};
  };
  if (auto found = plain(from)) return found;
  // A number so low dominates the scores: the choice equals a sum.
  if (const BuilderNode* choice = builder.node_of(from, "where")) {
    const auto least = scalar_in(builder, choice->in[2]);
    const auto& seen = builder[choice->in[0]].shape;
    if (!least || !(*least <= -1e30) || !seen || seen->size() > 4 || uses[from] != 1) return {};
    auto found = plain(choice->in[1]);
    if (found) found->bias = from, found->is_where = true;
    return found;
  }
  const BuilderNode* add = builder.node_of(from, "add");
  if (!add) return {};
  for (const std::size_t i : {0, 1}) {
    auto found = plain(add->in[i]);
    const auto& bias = builder[add->in[1 - i]].shape;
    if (!found || !bias || bias->size() > 4) continue;
    found->bias = add->in[1 - i];
    return found;
  }
  return {};
}

// Matches merged heads [B, T, heads * D].
std::optional<Attention> attention(const GraphBuilder& builder, const BuilderNode& last,
                                   const std::vector<Index>& uses) {
  const BuilderNode* transposed = builder.node_of(last.in[0], "transpose");
  if (!transposed || transposed->attributes.list("axes", {}) != tokens_inside) return {};
  const BuilderNode* product = builder.node_of(transposed->in[0], "matmul");
  if (!product) return {};
  const auto numbers = without_nan(builder, product->in[0]);
  const BuilderNode* soft = builder.node_of(numbers.value_or(product->in[0]), "softmax");
  if (!soft) return {};
  const Index axis = soft->attributes.integer("axis", -1);
  auto found = axis == -1 || axis == 3 ? scores(builder, soft->in[0], uses) : std::nullopt;
  const auto v = found ? heads_of(builder, product->in[1], tokens_inside) : std::nullopt;
  if (!v || v->by != 1 || v->heads != found->heads || v->width != found->width) return {};
  found->v = v->x;
  const auto &q = builder[found->q].shape, &k = builder[found->k].shape,
             &y = builder[last.out].shape;
  if (!y || *y != *q || *k != *builder[found->v].shape || (*k)[0] != (*q)[0]) return {};
  return found;
}

}  // namespace

Index fuse_attention(GraphBuilder& builder) {
  for (std::size_t i = 0; i < builder.steps().size(); ++i)
    merge_batches(builder, builder.steps()[i].out);
  const std::vector<Index> uses = builder.uses();
  for (std::size_t i = 0; i < builder.steps().size(); ++i) {
    const BuilderNode& last = builder.steps()[i];
    if (!last.is("reshape")) continue;
    const auto found = attention(builder, last, uses);
    if (!found) continue;
    if (found->is_where) {
      BuilderNode& choice = builder.change(*found->bias);
      choice.in[1] = builder.add_scalar(0);
      builder[choice.out].shape = builder[choice.in[0]].shape;
    }
    BuilderNode& node = builder.change(last.out);
    node.op = "attention";
    node.in = {found->q, found->k, found->v};
    if (found->bias) node.in.push_back(*found->bias);
    node.attributes = Attributes().set("heads", found->heads);
    const double usual = 1 / std::sqrt(static_cast<double>(found->width));
    if (!is_about(found->scale, usual)) node.attributes.set("scale", found->scale);
  }
  unrepeat_biases(builder);
  return count_needed(builder, "attention");
}

}  // namespace sten
