// SPDX-License-Identifier: Apache-2.0
// Fusion of products with weights and their biases.
#include <algorithm>

#include "libsten/model/fusion/fuse.h"

namespace sten {
namespace {

bool is_matrix(const BuilderValue& v) { return v.weight && v.shape->size() == 2; }

// Whether w is the right factor in all its uses.
bool is_only_multiplied(const GraphBuilder& builder, ValueRef w, const std::vector<Index>& uses,
                        const std::vector<Index>& products) {
  return is_matrix(builder[w]) && uses[w] == products[w];
}

// The node that transposes the matrix v.
const BuilderNode* transposed(const GraphBuilder& builder, ValueRef v) {
  const BuilderNode* s = builder.node_of(v, "transpose");
  return s && s->attributes.list("axes", {1, 0}) == Attributes::List{1, 0} ? s : nullptr;
}

// Replaces a product of x[..., K] or x[..., heads, D], reshaped to rows [N, K], with w, and the
// reshape to [..., M], by one product.
void concat_rows(GraphBuilder& builder, ValueRef out, const std::vector<Index>& uses) {
  const BuilderNode* last = builder.node_of(out, "reshape");
  const BuilderNode* linear = last ? builder.node_of(last->in[0], "linear") : nullptr;
  const BuilderNode* first = linear ? builder.node_of(linear->in[0], "reshape") : nullptr;
  if (!first) return;
  const auto &x = builder[first->in[0]].shape, &rows = builder[linear->in[0]].shape,
             &m = builder[linear->out].shape, &y = builder[out].shape;
  if (!x || !rows || !m || !y || rows->size() != 2 || x->size() < y->size()) return;
  if (y->empty() || y->back() != m->back()) return;
  const auto lead = static_cast<std::ptrdiff_t>(y->size()) - 1;
  const ExtentList rest(x->begin() + lead, x->end());
  if (!std::equal(x->begin(), x->begin() + lead, y->begin())) return;
  if (builder.extents.product(rest) != rows->back() || !rows->back().is_known()) return;
  std::vector<ValueRef> in = linear->in;
  if (rest.size() == 1) {
    in[0] = first->in[0];
  } else {
    if (uses[in[0]] != 1) return;
    Attributes::List to(y->size(), 0);
    to.back() = rows->back().number;
    ExtentList joined(x->begin(), x->begin() + lead);
    joined.push_back(rows->back());
    builder.change(in[0]).in.resize(1);
    builder.change(in[0]).attributes = Attributes().set("shape", to).set("copy-zeros", 1);
    builder[in[0]].shape = std::move(joined);
  }
  builder.change(out).op = "linear";
  builder.change(out).attributes = {};
  builder.change(out).in = std::move(in);
}

}  // namespace

Index fuse_linear(GraphBuilder& builder, bool transposes_weights) {
  const std::vector<Index> uses = builder.uses();
  std::vector<Index> products(builder.size());
  for (const BuilderNode& s : builder.steps())
    if (s.is("matmul") && uses[s.out] > 0) ++products[s.in[1]];
  for (std::size_t i = 0; i < builder.steps().size(); ++i) {
    const ValueRef out = builder.steps()[i].out;
    if (builder.node_of(out, "matmul")) {
      const ValueRef w = builder.node_of(out)->in[1];
      if (const BuilderNode* t = transposed(builder, w); t && is_matrix(builder[t->in[0]])) {
        const ValueRef whole = t->in[0];
        builder.change(out).op = "linear";
        builder.change(out).in[1] = whole;
      } else if (transposes_weights && is_only_multiplied(builder, w, uses, products)) {
        builder.change(out).op = "linear";
        Weight& weight = *builder[w].weight;
        if (!weight.in_by_out) {
          std::ranges::reverse(*builder[w].shape);
          std::ranges::reverse(weight.shape);
        }
        weight.in_by_out = true;
      }
    }
    // A bias of one axis.
    if (const BuilderNode* add = builder.node_of(out, "add")) {
      for (const std::size_t k : {0, 1}) {
        const ValueRef product = add->in[k], bias = add->in[1 - k];
        const BuilderNode* linear = builder.node_of(product, "linear");
        if (!linear || linear->in.size() != 2 || uses[product] != 1) continue;
        const auto &b = builder[bias].shape, &w = builder[linear->in[1]].shape;
        if (!b || !w || b->size() != 1 || w->size() != 2 || b->front() != w->front()) continue;
        const std::vector<ValueRef> in{linear->in[0], linear->in[1], bias};
        builder.change(out).op = "linear";
        builder.change(out).in = in;
        break;
      }
    }
  }
  for (std::size_t i = 0; i < builder.steps().size(); ++i)
    concat_rows(builder, builder.steps()[i].out, uses);
  return count_needed(builder, "linear");
}

}  // namespace sten
