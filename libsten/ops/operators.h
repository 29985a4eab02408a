// The operators, one template each for values (inference) and for taped values (training).
//
// All compute in float32; dense F64 is there for checking gradients. Axes may be negative. Formats
// say in which layout an output is written and what is kept of it, and the same of its gradient.
#pragma once
#include "libsten/autograd/tape.h"

namespace sten {

template <class T>
concept Operand = std::same_as<T, Tensor> || std::same_as<T, Var>;

namespace ops_detail {

inline Tensor call(Name op, std::initializer_list<Tensor> in, const Attributes& a,
                   const Formats& f) {
  return apply(op, in, a, &f == &Formats::dense() ? OutFormat::dense() : f.out);
}
inline Var call(Name op, std::initializer_list<Var> in, const Attributes& a, const Formats& f) {
  return apply(op, in, a, f);
}

}  // namespace ops_detail

// y[..., M] = x[..., K] * w[M, K]^T. w may be csr, csc, coo, ell, bitmask, bcsr, nm, nmg or masked.
template <Operand T>
T linear(const T& x, const std::type_identity_t<T>& w, const Formats& f = Formats::dense()) {
  static const Name op("linear");
  return ops_detail::call(op, {x, w}, {}, f);
}
// The same, and + b[M].
template <Operand T>
T linear(const T& x, const std::type_identity_t<T>& w, const std::type_identity_t<T>& b,
         const Formats& f = Formats::dense()) {
  static const Name op("linear");
  return ops_detail::call(op, {x, w, b}, {}, f);
}

// c[..., m, n] = a[..., m, k] * b[..., k, n], batch extents broadcast. One factor, of rank 2, may
// be in one of linear()'s layouts.
template <Operand T>
T matmul(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  static const Name op("matmul");
  return ops_detail::call(op, {a, b}, {}, f);
}

// Elementwise, repeated as numpy does. A Tensor beside a Var is a constant.
template <Operand T>
T add(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  static const Name op("add");
  return ops_detail::call(op, {a, b}, {}, f);
}
template <Operand T>
T sub(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  static const Name op("sub");
  return ops_detail::call(op, {a, b}, {}, f);
}
template <Operand T>
T mul(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  static const Name op("mul");
  return ops_detail::call(op, {a, b}, {}, f);
}

// x * by.
template <Operand T>
T scale(const T& x, double by, const Formats& f = Formats::dense()) {
  static const Name op("scale");
  return ops_detail::call(op, {x}, Attributes().set("by", by), f);
}

// x where it is positive, else 0; NaN stays.
template <Operand T>
T relu(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("relu");
  return ops_detail::call(op, {x}, {}, f);
}

// x / 2 * (1 + erf(x / sqrt(2))).
template <Operand T>
T gelu(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("gelu");
  return ops_detail::call(op, {x}, {}, f);
}

template <Operand T>
T tanh(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("tanh");
  return ops_detail::call(op, {x}, {}, f);
}

// 1 / (1 + exp(-x)).
template <Operand T>
T sigmoid(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("sigmoid");
  return ops_detail::call(op, {x}, {}, f);
}

// Each element is 0 with probability p, else x / (1 - p). Element i falls by number i of the
// stream of random numbers that `seed` has.
template <Operand T>
T dropout(const T& x, double p, Index seed, const Formats& f = Formats::dense()) {
  static const Name op("dropout");
  return ops_detail::call(op, {x}, Attributes().set("p", p).set("seed", seed), f);
}

// exp(x) divided by its sum along the axis.
template <Operand T>
T softmax(const T& x, Index axis = -1, const Formats& f = Formats::dense()) {
  static const Name op("softmax");
  return ops_detail::call(op, {x}, Attributes().set("axis", axis), f);
}
// The logarithm of that, with the digits that softmax loses.
template <Operand T>
T log_softmax(const T& x, Index axis = -1, const Formats& f = Formats::dense()) {
  static const Name op("log-softmax");
  return ops_detail::call(op, {x}, Attributes().set("axis", axis), f);
}

// (x - mean) / sqrt(variance + eps) * gamma[D] + beta[D] over the last axis of x[..., D].
template <Operand T>
T layer_norm(const T& x, const std::type_identity_t<T>& gamma, const std::type_identity_t<T>& beta,
             double eps = 1e-5, const Formats& f = Formats::dense()) {
  static const Name op("layer-norm");
  return ops_detail::call(op, {x, gamma, beta}, Attributes().set("eps", eps), f);
}

// Row i of the table[V, D] for each i of ids, I64 or I32: [ids..., D].
template <Operand T>
T embedding(const T& table, const std::type_identity_t<T>& ids,
            const Formats& f = Formats::dense()) {
  static const Name op("embedding");
  return ops_detail::call(op, {table, ids}, {}, f);
}

}  // namespace sten
