// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of ONNX (opset 21) besides those of operators.h. Operands are broadcast as
// in NumPy. Gradients are supported for F32 and F64, and are 0 at steps.
//
// F16 and BF16 are computed in F32. Where integers are supported, they are computed in I64 and keep
// their lowest bits.
#pragma once
#include <limits>

#include "libsten/compute/ops/common/operators.h"

namespace sten {

// Also for integers: div rounds towards zero, and division by 0 is an error; pow with a negative
// exponent is 0, 1 or -1. Operands of binary operators have one dtype, except for pow.
template <Operand T>
T div(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  return ops_detail::call<"div">({a, b}, {}, f);
}
// The exponent has any dtype; the result has the dtype of a.
template <Operand T>
T pow(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  return ops_detail::call<"pow">({a, b}, {}, f);
}
// NaN if either operand is NaN; equal operands each get half of the gradient.
template <Operand T>
T min(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  return ops_detail::call<"min">({a, b}, {}, f);
}
template <Operand T>
T max(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  return ops_detail::call<"max">({a, b}, {}, f);
}

// |x|; also for integers.
template <Operand T>
T abs(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"abs">({x}, {}, f);
}
// -x.
template <Operand T>
T neg(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"neg">({x}, {}, f);
}
// 1, 0 or -1; NaN for NaN.
template <Operand T>
T sign(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"sign">({x}, {}, f);
}

// The largest integer that is at most x.
template <Operand T>
T floor(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"floor">({x}, {}, f);
}
// The smallest integer that is at least x.
template <Operand T>
T ceil(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"ceil">({x}, {}, f);
}
// The nearest integer, with ties to even.
template <Operand T>
T round(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"round">({x}, {}, f);
}
template <Operand T>
T sqrt(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"sqrt">({x}, {}, f);
}
template <Operand T>
T exp(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"exp">({x}, {}, f);
}
// The natural logarithm.
template <Operand T>
T log(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"log">({x}, {}, f);
}
// 1 / x.
template <Operand T>
T reciprocal(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"reciprocal">({x}, {}, f);
}
template <Operand T>
T erf(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"erf">({x}, {}, f);
}
// log(1 + e^x).
template <Operand T>
T softplus(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"softplus">({x}, {}, f);
}
// x if x >= 0, else alpha (e^x - 1).
template <Operand T>
T elu(const T& x, double alpha = 1, const Formats& f = Formats::dense()) {
  return ops_detail::call<"elu">({x}, Attributes().set("alpha", alpha), f);
}
// x if x >= 0, else alpha x.
template <Operand T>
T leaky_relu(const T& x, double alpha = 0.01, const Formats& f = Formats::dense()) {
  return ops_detail::call<"leaky-relu">({x}, Attributes().set("alpha", alpha), f);
}
// alpha x + beta, clamped to [0, 1].
template <Operand T>
T hard_sigmoid(const T& x, double alpha = 0.2, double beta = 0.5,
               const Formats& f = Formats::dense()) {
  return ops_detail::call<"hard-sigmoid">({x}, Attributes().set("alpha", alpha).set("beta", beta),
                                          f);
}
// x * (x / 6 + 1/2 clamped to [0, 1]).
template <Operand T>
T hard_swish(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"hard-swish">({x}, {}, f);
}
// x clamped to [0, 6]; the gradient is 0 at both ends.
template <Operand T>
T relu6(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"relu6">({x}, {}, f);
}
// x * sigmoid(x).
template <Operand T>
T silu(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"silu">({x}, {}, f);
}
// min(max(x, low), high); NaN passes through. For tensors as bounds use min() and max().
template <Operand T>
T clip(const T& x, double low = -std::numeric_limits<double>::infinity(),
       double high = std::numeric_limits<double>::infinity(), const Formats& f = Formats::dense()) {
  return ops_detail::call<"clip">({x}, Attributes().set("min", low).set("max", high), f);
}

// BOOL results for all dtypes; NaN compares as in C. Constants on a tape.
template <Operand T>
T equal(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  return ops_detail::call<"equal">({a, b}, {}, f);
}
template <Operand T>
T less(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  return ops_detail::call<"less">({a, b}, {}, f);
}
template <Operand T>
T less_or_equal(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  return ops_detail::call<"less-or-equal">({a, b}, {}, f);
}
template <Operand T>
T greater(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  return ops_detail::call<"greater">({a, b}, {}, f);
}
template <Operand T>
T greater_or_equal(const T& a, const std::type_identity_t<T>& b,
                   const Formats& f = Formats::dense()) {
  return ops_detail::call<"greater-or-equal">({a, b}, {}, f);
}

// For BOOL tensors. The operators are named "and", "or", "xor" and "not".
template <Operand T>
T logical_and(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  return ops_detail::call<"and">({a, b}, {}, f);
}
template <Operand T>
T logical_or(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  return ops_detail::call<"or">({a, b}, {}, f);
}
template <Operand T>
T logical_xor(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  return ops_detail::call<"xor">({a, b}, {}, f);
}
template <Operand T>
T logical_not(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"not">({x}, {}, f);
}

// x if the BOOL condition is true, else y; for any dtype.
template <Operand T>
T where(const T& condition, const std::type_identity_t<T>& x, const std::type_identity_t<T>& y,
        const Formats& f = Formats::dense()) {
  return ops_detail::call<"where">({condition, x, y}, {}, f);
}

// Casts between BOOL, integers, and floats of at least 16 bits. Floats round to nearest even;
// integers round towards zero and keep their lowest bits; BOOL tells whether x is nonzero. A sparse
// x in a format of its layout keeps its positions.
template <Operand T>
T cast(const T& x, DType to, const Formats& f = Formats::dense()) {
  return ops_detail::call<"cast">({x}, Attributes().set("to", std::string(name_of(to))), f);
}

// x itself.
template <Operand T>
T identity(const T& x, const Formats& f = Formats::dense()) {
  return ops_detail::call<"identity">({x}, {}, f);
}

}  // namespace sten
