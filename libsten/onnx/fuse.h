// What exporters take apart, put together again: each looks for its pattern in the whole draft,
// changes the last of the steps it replaces, and returns how often. What nobody needs any more is
// left to finish().
#pragma once
#include "libsten/onnx/draft.h"

namespace sten {

// How many of the outputs, and of the steps that they need, take each value.
std::vector<Index> uses_of(const Draft& draft);
// Of the steps that outputs need, those of an operator.
Index count_needed(const Draft& draft, std::string_view op);

// A constant of one element, as a number.
std::optional<double> number_in(const Draft& draft, DraftRef v);
// Whether a number that went through float32 is that one.
bool is_about(std::optional<double> a, double b);
// v as x times a constant number, which is 1 where v is x itself.
struct Scaled {
  DraftRef x = 0;
  double by = 1;
};
Scaled unscaled(const Draft& draft, DraftRef v);
// x of x^2, computed as a power or a product.
std::optional<DraftRef> square_root(const Draft& draft, DraftRef v);
// The other input of an operator of two where one of them has the property.
template <class F>
std::optional<DraftRef> beside(const DraftStep& s, F&& property) {
  if (s.in.size() != 2) return {};
  if (property(s.in[0])) return s.in[1];
  if (property(s.in[1])) return s.in[0];
  return {};
}

// x * w + b with a weight w as linear, where w becomes [out, in] in every use; rows are not
// flattened for it.
Index fuse_linear(Draft& draft);
// (x - mean) / sqrt(variance + eps) * gamma + beta over the last axis.
Index fuse_layer_norm(Draft& draft);
// x / 2 * (1 + erf(x / sqrt(2))), and the tanh that is close to it (Hendrycks and Gimpel 2016).
Index fuse_gelu(Draft& draft);
Index fuse_gelu_tanh(Draft& draft);
// Takes away transposes between operators of images, which want their channels last.
void keep_channels_last(Draft& draft);
// A batch norm and the relu of its result.
Index fuse_batch_norm_relu(Draft& draft);
// relu of a convolution, or of one and another value of its shape that is added, which has no
// gradient.
Index fuse_conv_relu(Draft& draft);
// softmax(q k^T * scale + bias) v of heads that reshapes and transposes take apart and join.
Index fuse_attention(Draft& draft);
// Takes away repeating a mask over queries, which attention does with its bias.
void unrepeat_biases(Draft& draft);

}  // namespace sten
