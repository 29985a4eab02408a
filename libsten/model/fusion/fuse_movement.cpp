// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/fusion/axis_permutation.h"
#include "libsten/model/fusion/fuse.h"

namespace sten {
namespace {

// Whether `last`, applied to the result of `first`, gives the input of `first`.
bool undoes(const GraphBuilder& builder, const BuilderNode& first, const BuilderNode& last) {
  if (last.is("transpose")) {
    const Attributes::List a = first.attributes.list("axes", {}),
                           b = last.attributes.list("axes", {});
    return !a.empty() && b == inverse_permutation(a);
  }
  const auto &x = builder[first.in[0]].shape, &y = builder[last.out].shape;
  return x && y && *x == *y;
}

// The value that v is equal to, without transposes and reshapes that undo each other.
ValueRef unmoved(const GraphBuilder& builder, ValueRef v) {
  for (;;) {
    const BuilderNode* last = builder.node_of(v, "transpose");
    if (!last) last = builder.node_of(v, "reshape");
    const BuilderNode* first = last ? builder.node_of(last->in[0], last->op.text()) : nullptr;
    if (!first || !undoes(builder, *first, *last)) return v;
    v = first->in[0];
  }
}

}  // namespace

void cancel_movements(GraphBuilder& builder) {
  for (std::size_t i = 0; i < builder.steps().size(); ++i) {
    BuilderNode& node = builder.change(builder.steps()[i].out);
    for (ValueRef& v : node.in) v = unmoved(builder, v);
  }
}

}  // namespace sten
