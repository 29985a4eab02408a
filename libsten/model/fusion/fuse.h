// SPDX-License-Identifier: Apache-2.0
// Fusions. Each finds its pattern in the whole builder, changes the last of the
// nodes that it replaces, and returns the number of matches. lower() drops unused nodes.
#pragma once
#include "libsten/model/fusion/graph_builder.h"

namespace sten {

// The number of needed nodes of an operator.
Index count_needed(const GraphBuilder& builder, std::string_view op);

// A constant of one element as a number; none otherwise.
std::optional<double> scalar_in(const GraphBuilder& builder, ValueRef v);
// Whether a number, after rounding to float32, equals b.
bool is_about(std::optional<double> a, double b);
// A value as x times a constant, which is 1 for x itself.
struct Scaled {
  ValueRef x = 0;
  double by = 1;
};
Scaled unscaled(const GraphBuilder& builder, ValueRef v);
// x, if the value is x^2 as a power or a product.
std::optional<ValueRef> square_root(const GraphBuilder& builder, ValueRef v);
// The other input of a binary operator of which one input has the property.
template <class F>
std::optional<ValueRef> beside(const BuilderNode& s, F&& property) {
  if (s.in.size() != 2) return {};
  if (property(s.in[0])) return s.in[1];
  if (property(s.in[1])) return s.in[0];
  return {};
}

// Fuses x * w + b with a weight w to linear: w transposed by a node, or [in, out] if
// `transposes_weights`, which then becomes [out, in] in all uses. Rows are not flattened.
Index fuse_linear(GraphBuilder& builder, bool transposes_weights);
// Fuses (x - mean) / sqrt(variance + eps) * gamma + beta over the last axis.
Index fuse_layer_norm(GraphBuilder& builder);
// Fuses x / 2 * (1 + erf(x / sqrt(2))) and its tanh approximation (Hendrycks and Gimpel 2016).
Index fuse_gelu(GraphBuilder& builder);
Index fuse_gelu_tanh(GraphBuilder& builder);
// Removes transposes between image operators, which need channels last.
void keep_channels_last(GraphBuilder& builder);
// Fuses a batch norm with the relu of its result.
Index fuse_batch_norm_relu(GraphBuilder& builder);
// Fuses a convolution with its relu, also with a residual of the same shape in between, which has
// no gradient.
Index fuse_conv_relu(GraphBuilder& builder);
// Fuses softmax(q k^T * scale + bias) v over heads that reshapes and transposes split and merge.
Index fuse_attention(GraphBuilder& builder);
// Skips transposes that the next one undoes, and reshapes whose next one gives the shape before
// them, as between heads that nodes split and merge.
void cancel_movements(GraphBuilder& builder);
// Removes the repetition of masks over queries, since attention broadcasts its bias.
void unrepeat_biases(GraphBuilder& builder);

}  // namespace sten
