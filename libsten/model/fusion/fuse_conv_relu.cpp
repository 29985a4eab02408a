// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/fusion/fuse.h"

namespace sten {
namespace {

// The node of v, if it is a convolution without other uses.
const BuilderNode* own_convolution(const GraphBuilder& builder, const std::vector<Index>& uses,
                                   ValueRef v) {
  return uses[v] == 1 ? builder.node_of(v, "conv") : nullptr;
}

bool have_one_shape(const GraphBuilder& builder, ValueRef a, ValueRef b) {
  const auto &x = builder[a].shape, &y = builder[b].shape;
  return x && y && *x == *y;
}

}  // namespace

Index fuse_conv_relu(GraphBuilder& builder) {
  const std::vector<Index> uses = builder.uses();
  Index count = 0;
  for (std::size_t i = 0; i < builder.steps().size(); ++i) {
    const BuilderNode& relu = builder.steps()[i];
    if (!relu.is("relu") || uses[relu.out] == 0) continue;
    const BuilderNode* conv = own_convolution(builder, uses, relu.in[0]);
    std::optional<ValueRef> residual;
    if (const BuilderNode* sum = conv ? nullptr : builder.node_of(relu.in[0]);
        sum && sum->is("add") && uses[sum->out] == 1 &&
        have_one_shape(builder, sum->in[0], sum->in[1])) {
      conv = own_convolution(builder, uses, sum->in[1]);
      residual = sum->in[0];
      if (!conv) {
        conv = own_convolution(builder, uses, sum->in[0]);
        residual = sum->in[1];
      }
    }
    if (!conv) continue;
    const BuilderNode before = *conv;
    BuilderNode& all = builder.change(relu.out);
    all.op = "conv-relu";
    all.in = before.in;
    all.attributes = before.attributes;
    if (residual) {
      all.in.push_back(*residual);
      all.attributes.set("residual", 1);
    }
    ++count;
  }
  return count;
}

}  // namespace sten
