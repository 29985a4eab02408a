// What exporters take apart, put together again: each looks for its pattern in the whole draft,
// changes the last of the steps it replaces, and returns how often. What nobody needs any more is
// left to finish().
#pragma once
#include "libsten/onnx/graph_builder.h"

namespace sten {

// How many of the outputs, and of the steps that they need, take each value.
std::vector<Index> uses_of(const GraphBuilder& builder);
// Of the steps that outputs need, those of an operator.
Index count_needed(const GraphBuilder& builder, std::string_view op);

// A constant of one element, as a number.
std::optional<double> scalar_in(const GraphBuilder& builder, ValueRef v);
// Whether a number that went through float32 is that one.
bool is_about(std::optional<double> a, double b);
// v as x times a constant number, which is 1 where v is x itself.
struct Scaled {
  ValueRef x = 0;
  double by = 1;
};
Scaled unscaled(const GraphBuilder& builder, ValueRef v);
// x of x^2, computed as a power or a product.
std::optional<ValueRef> square_root(const GraphBuilder& builder, ValueRef v);
// The other input of an operator of two where one of them has the property.
template <class F>
std::optional<ValueRef> beside(const BuilderNode& s, F&& property) {
  if (s.in.size() != 2) return {};
  if (property(s.in[0])) return s.in[1];
  if (property(s.in[1])) return s.in[0];
  return {};
}

// x * w + b with a weight w as linear, where w becomes [out, in] in every use; rows are not
// flattened for it.
Index fuse_linear(GraphBuilder& builder);
// (x - mean) / sqrt(variance + eps) * gamma + beta over the last axis.
Index fuse_layer_norm(GraphBuilder& builder);
// x / 2 * (1 + erf(x / sqrt(2))), and the tanh that is close to it (Hendrycks and Gimpel 2016).
Index fuse_gelu(GraphBuilder& builder);
Index fuse_gelu_tanh(GraphBuilder& builder);
// Takes away transposes between operators of images, which want their channels last.
void keep_channels_last(GraphBuilder& builder);
// A batch norm and the relu of its result.
Index fuse_batch_norm_relu(GraphBuilder& builder);
// relu of a convolution, or of one and another value of its shape that is added, which has no
// gradient.
Index fuse_conv_relu(GraphBuilder& builder);
// softmax(q k^T * scale + bias) v of heads that reshapes and transposes take apart and join.
Index fuse_attention(GraphBuilder& builder);
// Takes away repeating a mask over queries, which attention does with its bias.
void unrepeat_biases(GraphBuilder& builder);

}  // namespace sten
