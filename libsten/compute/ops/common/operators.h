// SPDX-License-Identifier: Apache-2.0
// Operators, as templates on values (inference) and variables of a tape (training).
//
// All compute in float32; dense F64 is for checking gradients. Axes may be negative. Formats give
// the layouts and sparsifiers of an output and of its gradient.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <span>

#include "libsten/compute/autograd/tape.h"

namespace sten {

template <class T>
concept Operand = std::same_as<T, Tensor> || std::same_as<T, Var>;

namespace ops_detail {

inline Tensor call(Name op, std::span<const Tensor> in, const Attributes& a, const Formats& f) {
  return apply(op, in, a, &f == &Formats::dense() ? OutFormat::dense() : f.out);
}
inline Var call(Name op, std::span<const Var> in, const Attributes& a, const Formats& f) {
  return apply(op, in, a, f);
}
// The same for an operator's name as text: call<"relu">({x}, {}, f).
template <std::size_t n>
struct Text {
  char chars[n];
  consteval Text(const char (&text)[n]) { std::ranges::copy(text, chars); }
};
template <Text text, Operand T>
T call(std::span<const T> in, const Attributes& a, const Formats& f) {
  static const Name op(text.chars);
  return call(op, in, a, f);
}
template <Text text, Operand T>
T call(std::initializer_list<T> in, const Attributes& a, const Formats& f) {
  return call<text>(std::span(in.begin(), in.size()), a, f);
}
inline Attributes reduction(const Attributes::List& axes, bool keep) {
  return Attributes().set("axes", axes).set("keep", Index{keep});
}

}  // namespace ops_detail

// Calls an operator by name; the functions below use this.
template <Operand T>
T apply_to(Name op, std::initializer_list<T> in, const Attributes& attributes = {},
           const Formats& formats = Formats::dense()) {
  return ops_detail::call(op, std::span(in.begin(), in.size()), attributes, formats);
}

// y[..., M] = x[..., K] * w[M, K]^T. w may be csr, csc, coo, ell, bitmask, bcsr, nm, nmg, nmgv or
// masked.
template <Operand T>
T linear(const T& x, const std::type_identity_t<T>& w, const Formats& f = Formats::dense()) {
  return ops_detail::call<"linear">({x, w}, {}, f);
}
// The same with a bias b[M].
template <Operand T>
T linear(const T& x, const std::type_identity_t<T>& w, const std::type_identity_t<T>& b,
         const Formats& f = Formats::dense()) {
  return ops_detail::call<"linear">({x, w, b}, {}, f);
}

// c[..., m, n] = a[..., m, k] * b[..., k, n], with broadcast batch extents. One factor, of rank 2,
// may be in one of linear()'s layouts.
template <Operand T>
T matmul(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  return ops_detail::call<"matmul">({a, b}, {}, f);
}

// Convolution of channels-last x[N, S..., C] with w[O, C / groups, K...], which may be masked, and
// bias b[O]: [N, S'..., O]. Attributes: groups (1); and for each of 1 to 3 spatial axes strides,
// dilations (1s) and pads (before all axes, then after; 0s). S' = (S + pads - (K - 1) * dilation -
// 1) / stride + 1, rounded down.
template <Operand T>
T conv(const T& x, const std::type_identity_t<T>& w, const Attributes& a = {},
       const Formats& f = Formats::dense()) {
  return ops_detail::call<"conv">({x, w}, a, f);
}
template <Operand T>
T conv(const T& x, const std::type_identity_t<T>& w, const std::type_identity_t<T>& b,
       const Attributes& a, const Formats& f = Formats::dense()) {
  return ops_detail::call<"conv">({x, w, b}, a, f);
}
// Transposed convolution with w[C, O / groups, K...] and the further attribute output-padding (0s):
// S' = (S - 1) * stride - pads + (K - 1) * dilation + 1 + output-padding.
template <Operand T>
T conv_transpose(const T& x, const std::type_identity_t<T>& w, const Attributes& a = {},
                 const Formats& f = Formats::dense()) {
  return ops_detail::call<"conv-transpose">({x, w}, a, f);
}

// Binary operators, broadcast as in NumPy. A Tensor beside a Var is a constant.
template <Operand T>
T add(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  return ops_detail::call<"add">({a, b}, {}, f);
}
template <Operand T>
T sub(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  return ops_detail::call<"sub">({a, b}, {}, f);
}
template <Operand T>
T mul(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  return ops_detail::call<"mul">({a, b}, {}, f);
}

// x * by.
template <Operand T>
T scale(const T& x, double by, const Formats& f = Formats::dense()) {
  return ops_detail::call<"scale">({x}, Attributes().set("by", by), f);
}

// x if positive, else 0; NaN passes through.
template <Operand T>
T relu(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"relu">({x}, {}, f);
}

// x / 2 * (1 + erf(x / sqrt(2))).
template <Operand T>
T gelu(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"gelu">({x}, {}, f);
}

template <Operand T>
T tanh(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"tanh">({x}, {}, f);
}

// 1 / (1 + exp(-x)).
template <Operand T>
T sigmoid(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"sigmoid">({x}, {}, f);
}

// Each element is 0 with probability p, else x / (1 - p). Element i depends on value i of the
// stream of random numbers of `seed`.
template <Operand T>
T dropout(const T& x, double p, Index seed, const Formats& f = Formats::dense()) {
  return ops_detail::call<"dropout">({x}, Attributes().set("p", p).set("seed", seed), f);
}
// The same with a stream per value of `draw`, an I64, so that steps differ.
template <Operand T>
T dropout(const T& x, const std::type_identity_t<T>& draw, double p, Index seed,
          const Formats& f = Formats::dense()) {
  return ops_detail::call<"dropout">({x, draw}, Attributes().set("p", p).set("seed", seed), f);
}

// exp(x) divided by its sum along the axis.
template <Operand T>
T softmax(const T& x, Index axis = -1, const Formats& f = Formats::dense()) {
  return ops_detail::call<"softmax">({x}, Attributes().set("axis", axis), f);
}
// The logarithm of softmax, with the digits that softmax loses.
template <Operand T>
T log_softmax(const T& x, Index axis = -1, const Formats& f = Formats::dense()) {
  return ops_detail::call<"log-softmax">({x}, Attributes().set("axis", axis), f);
}

// (x - mean) / sqrt(variance + eps) * gamma[D] + beta[D] over the last axis of x[..., D].
template <Operand T>
T layer_norm(const T& x, const std::type_identity_t<T>& gamma, const std::type_identity_t<T>& beta,
             double eps = 1e-5, const Formats& f = Formats::dense()) {
  return ops_detail::call<"layer-norm">({x, gamma, beta}, Attributes().set("eps", eps), f);
}

// (x - mean) / sqrt(variance + eps) * gamma[C] + beta[C] per channel, the last axis of x[..., C],
// with the mean and the biased variance over all other axes. By name, relu=1 applies a relu.
// Moments are computed once and cached with x: batch_moments(x) is [2, C], mean and variance, a
// constant on a tape; with sample=1, the variance is unbiased.
template <Operand T>
T batch_norm_train(const T& x, const std::type_identity_t<T>& gamma,
                   const std::type_identity_t<T>& beta, double eps = 1e-5,
                   const Formats& f = Formats::dense()) {
  return ops_detail::call<"batch-norm-train">({x, gamma, beta}, Attributes().set("eps", eps), f);
}
template <Operand T>
T batch_moments(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"batch-moments">({x}, {}, f);
}
// The same with the given mean[C] and variance[C].
template <Operand T>
T batch_norm(const T& x, const std::type_identity_t<T>& gamma, const std::type_identity_t<T>& beta,
             const std::type_identity_t<T>& mean, const std::type_identity_t<T>& variance,
             double eps = 1e-5, const Formats& f = Formats::dense()) {
  return ops_detail::call<"batch-norm">({x, gamma, beta, mean, variance},
                                        Attributes().set("eps", eps), f);
}

// Row i of the table[V, D] for each i of ids, I64 or I32: [ids..., D].
template <Operand T>
T embedding(const T& table, const std::type_identity_t<T>& ids,
            const Formats& f = Formats::dense()) {
  return ops_detail::call<"embedding">({table, ids}, {}, f);
}

// softmax(q k^T / sqrt(D)) v in each of `heads` heads of D neighbouring channels: q[B, T, heads *
// D], k[B, S, heads * D] and v[B, S, heads * E] to [B, T, heads * E]. By name, the attribute
// `scale` replaces 1 / sqrt(D), and with causal=1 query i sees the keys up to S - T + i: fewer
// queries than keys are the last ones.
template <Operand T>
T attention(const T& q, const std::type_identity_t<T>& k, const std::type_identity_t<T>& v,
            Index heads, const Formats& f = Formats::dense()) {
  return ops_detail::call<"attention">({q, k, v}, Attributes().set("heads", heads), f);
}
// With a mask[B, S], I64 or I32, key s of sequence b is hidden where the mask is 0. Rows without
// visible keys are 0. A mask of q's dtype is a bias of the scores, broadcast to [B, heads, T, S],
// and has a gradient.
template <Operand T>
T attention(const T& q, const std::type_identity_t<T>& k, const std::type_identity_t<T>& v,
            const std::type_identity_t<T>& mask, Index heads, const Formats& f = Formats::dense()) {
  return ops_detail::call<"attention">({q, k, v, mask}, Attributes().set("heads", heads), f);
}

// x's elements in another shape. One extent may be -1. A dense result shares x's values. With the
// attribute copy-zeros=1, an extent of 0 means x's own.
template <Operand T>
T reshape(const T& x, const Shape& shape, const Formats& f = Formats::dense()) {
  return ops_detail::call<"reshape">({x}, Attributes().set("shape", shape), f);
}

// Axis d of the result is x's axis axes[d]; by default the last two axes are exchanged.
template <Operand T>
T transpose(const T& x, const Attributes::List& axes = {}, const Formats& f = Formats::dense()) {
  return ops_detail::call<"transpose">(
      {x}, axes.empty() ? Attributes() : Attributes().set("axes", axes), f);
}

// Joins tensors along the axis.
template <Operand T>
T concat(const std::vector<T>& all, Index axis = 0, const Formats& f = Formats::dense()) {
  return ops_detail::call<"concat">(std::span<const T>(all), Attributes().set("axis", axis), f);
}

// The indices [begin, end) of the axis.
template <Operand T>
T slice(const T& x, Index axis, Index begin, Index end, const Formats& f = Formats::dense()) {
  return ops_detail::call<"slice">(
      {x}, Attributes().set("axis", axis).set("begin", begin).set("end", end), f);
}

// x with the indices [begin, end) of the axis replaced by v; for any dtype.
template <Operand T>
T slice_scatter(const T& x, const std::type_identity_t<T>& v, Index axis, Index begin, Index end,
                const Formats& f = Formats::dense()) {
  return ops_detail::call<"slice-scatter">(
      {x, v}, Attributes().set("axis", axis).set("begin", begin).set("end", end), f);
}

// Reduces the axes, or all if none are given; `keep` keeps them with extent 1.
template <Operand T>
T sum(const T& x, const Attributes::List& axes = {}, bool keep = false,
      const Formats& f = Formats::dense()) {
  return ops_detail::call<"sum">({x}, ops_detail::reduction(axes, keep), f);
}
template <Operand T>
T mean(const T& x, const Attributes::List& axes = {}, bool keep = false,
       const Formats& f = Formats::dense()) {
  return ops_detail::call<"mean">({x}, ops_detail::reduction(axes, keep), f);
}

// Movement and reductions of ONNX (opset 21). Movement supports any dtype. Called by name, lists
// can be a further input of integers instead: see the table in docs/operators.md.

// Removes these axes of extent 1, or all of them.
template <Operand T>
T squeeze(const T& x, const Attributes::List& axes = {}, const Formats& f = Formats::dense()) {
  return ops_detail::call<"squeeze">({x}, Attributes().set("axes", axes), f);
}
// Adds axes of extent 1 at these positions of the result.
template <Operand T>
T unsqueeze(const T& x, const Attributes::List& axes, const Formats& f = Formats::dense()) {
  return ops_detail::call<"unsqueeze">({x}, Attributes().set("axes", axes), f);
}
// A matrix: rows are the axes before `axis`, columns the others.
template <Operand T>
T flatten(const T& x, Index axis = 1, const Formats& f = Formats::dense()) {
  return ops_detail::call<"flatten">({x}, Attributes().set("axis", axis), f);
}
// For each of the axes (by default the first ones), the indices from begins to before ends by
// steps, which may be negative. Indices outside of the axis are clamped.
template <Operand T>
T slice_axes(const T& x, const Attributes::List& begins, const Attributes::List& ends,
             const Attributes::List& axes = {}, const Attributes::List& steps = {},
             const Formats& f = Formats::dense()) {
  return ops_detail::call<"slice">(
      {x},
      Attributes().set("begins", begins).set("ends", ends).set("axes", axes).set("steps", steps),
      f);
}
// Broadcasts x and `shape` to their common shape.
template <Operand T>
T expand(const T& x, const Shape& shape, const Formats& f = Formats::dense()) {
  return ops_detail::call<"expand">({x}, Attributes().set("shape", shape), f);
}
// Repeats the tensor repeats[d] times along axis d.
template <Operand T>
T tile(const T& x, const Attributes::List& repeats, const Formats& f = Formats::dense()) {
  return ops_detail::call<"tile">({x}, Attributes().set("repeats", repeats), f);
}
// pads: number of elements to add before all axes, then after; negative numbers remove elements.
// mode: constant, reflect, edge or wrap.
template <Operand T>
T pad(const T& x, const Attributes::List& pads, const std::string& mode = "constant",
      double value = 0, const Formats& f = Formats::dense()) {
  return ops_detail::call<"pad">(
      {x}, Attributes().set("pads", pads).set("mode", mode).set("value", value), f);
}
// x[..., ids, ...]: the axes of ids, I64 or I32, replace the axis; -1 is the last index.
template <Operand T>
T gather(const T& x, const std::type_identity_t<T>& ids, Index axis = 0,
         const Formats& f = Formats::dense()) {
  return ops_detail::call<"gather">({x, ids}, Attributes().set("axis", axis), f);
}
// Element [k...] is that of x with ids[k...] instead of k at the axis.
template <Operand T>
T gather_elements(const T& x, const std::type_identity_t<T>& ids, Index axis = 0,
                  const Formats& f = Formats::dense()) {
  return ops_detail::call<"gather-elements">({x, ids}, Attributes().set("axis", axis), f);
}

// By name, as sum(): reduce-max, reduce-min, reduce-prod, reduce-l1 (sum of |x|), reduce-l2 (root
// of the sum of x^2), reduce-sum-square, reduce-log-sum, reduce-log-sum-exp.
template <Operand T>
T reduce(Name op, const T& x, const Attributes::List& axes = {}, bool keep = false,
         const Formats& f = Formats::dense()) {
  return apply_to(op, {x}, ops_detail::reduction(axes, keep), f);
}

// I64 indices of the first maximum; arg-min and last=1 by name.
template <Operand T>
T arg_max(const T& x, Index axis = 0, bool keep = false, const Formats& f = Formats::dense()) {
  return ops_detail::call<"arg-max">({x}, Attributes().set("axis", axis).set("keep", Index{keep}),
                                     f);
}
// The k largest values along the axis in descending order, and their I64 indices.
template <Operand T>
T top_k(const T& x, Index k, Index axis = -1, const Formats& f = Formats::dense()) {
  return ops_detail::call<"top-k">({x}, Attributes().set("k", k).set("axis", axis), f);
}
template <Operand T>
T top_k_indices(const T& x, Index k, Index axis = -1, const Formats& f = Formats::dense()) {
  return ops_detail::call<"top-k-indices">({x}, Attributes().set("k", k).set("axis", axis), f);
}
// Cumulative sums along the axis.
template <Operand T>
T cum_sum(const T& x, Index axis, const Formats& f = Formats::dense()) {
  return ops_detail::call<"cum-sum">({x}, Attributes().set("axis", axis), f);
}
// Keeps, in each matrix of the last two axes, the elements on or above diagonal k, or on or below
// it; others are 0.
template <Operand T>
T trilu(const T& x, Index k = 0, bool upper = true, const Formats& f = Formats::dense()) {
  return ops_detail::call<"trilu">({x}, Attributes().set("k", k).set("upper", Index{upper}), f);
}

// The mean of -log softmax(logits[..., C])[target] over the rows whose target (targets[...], I64 or
// I32) is not `ignore`; 0 without rows. A scalar. By name, the attribute smoothing=e (PyTorch's
// label_smoothing) weights this by 1 - e, and the mean over all classes by e.
template <Operand T>
T cross_entropy(const T& logits, const std::type_identity_t<T>& targets, Index ignore = -100,
                const Formats& f = Formats::dense()) {
  return ops_detail::call<"cross-entropy">({logits, targets}, Attributes().set("ignore", ignore),
                                           f);
}

// The mean of T^2 KL(softmax(wanted / T)
// softmax(logits / T)) over rows (Hinton, Vinyals, Dean 2015); both are [..., C]. A scalar.
template <Operand T>
T kl_divergence(const T& logits, const std::type_identity_t<T>& wanted,
                const std::type_identity_t<T>& targets, double temperature = 1, Index ignore = -100,
                const Formats& f = Formats::dense()) {
  return ops_detail::call<"kl-divergence">(
      {logits, wanted, targets}, Attributes().set("temperature", temperature).set("ignore", ignore),
      f);
}

// The mean of (x - y)^2, a scalar.
template <Operand T>
T mse(const T& x, const std::type_identity_t<T>& y, const Formats& f = Formats::dense()) {
  return ops_detail::call<"mse">({x, y}, {}, f);
}

}  // namespace sten
