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
  static const Name op("div");
  return ops_detail::call(op, {a, b}, {}, f);
}
// The exponent has any dtype; the result has the dtype of a.
template <Operand T>
T pow(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  static const Name op("pow");
  return ops_detail::call(op, {a, b}, {}, f);
}
// NaN if either operand is NaN; equal operands each get half of the gradient.
template <Operand T>
T min(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  static const Name op("min");
  return ops_detail::call(op, {a, b}, {}, f);
}
template <Operand T>
T max(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  static const Name op("max");
  return ops_detail::call(op, {a, b}, {}, f);
}

// |x|; also for integers.
template <Operand T>
T abs(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("abs");
  return ops_detail::call(op, {x}, {}, f);
}
// -x.
template <Operand T>
T neg(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("neg");
  return ops_detail::call(op, {x}, {}, f);
}
// 1, 0 or -1; NaN for NaN.
template <Operand T>
T sign(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("sign");
  return ops_detail::call(op, {x}, {}, f);
}

// The largest integer that is at most x.
template <Operand T>
T floor(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("floor");
  return ops_detail::call(op, {x}, {}, f);
}
// The smallest integer that is at least x.
template <Operand T>
T ceil(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("ceil");
  return ops_detail::call(op, {x}, {}, f);
}
// The nearest integer, with ties to even.
template <Operand T>
T round(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("round");
  return ops_detail::call(op, {x}, {}, f);
}
template <Operand T>
T sqrt(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("sqrt");
  return ops_detail::call(op, {x}, {}, f);
}
template <Operand T>
T exp(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("exp");
  return ops_detail::call(op, {x}, {}, f);
}
// The natural logarithm.
template <Operand T>
T log(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("log");
  return ops_detail::call(op, {x}, {}, f);
}
// 1 / x.
template <Operand T>
T reciprocal(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("reciprocal");
  return ops_detail::call(op, {x}, {}, f);
}
template <Operand T>
T erf(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("erf");
  return ops_detail::call(op, {x}, {}, f);
}
// log(1 + e^x).
template <Operand T>
T softplus(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("softplus");
  return ops_detail::call(op, {x}, {}, f);
}
// x if x >= 0, else alpha (e^x - 1).
template <Operand T>
T elu(const T& x, double alpha = 1, const Formats& f = Formats::dense()) {
  static const Name op("elu");
  return ops_detail::call(op, {x}, Attributes().set("alpha", alpha), f);
}
// x if x >= 0, else alpha x.
template <Operand T>
T leaky_relu(const T& x, double alpha = 0.01, const Formats& f = Formats::dense()) {
  static const Name op("leaky-relu");
  return ops_detail::call(op, {x}, Attributes().set("alpha", alpha), f);
}
// alpha x + beta, clamped to [0, 1].
template <Operand T>
T hard_sigmoid(const T& x, double alpha = 0.2, double beta = 0.5,
               const Formats& f = Formats::dense()) {
  static const Name op("hard-sigmoid");
  return ops_detail::call(op, {x}, Attributes().set("alpha", alpha).set("beta", beta), f);
}
// x * (x / 6 + 1/2 clamped to [0, 1]).
template <Operand T>
T hard_swish(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("hard-swish");
  return ops_detail::call(op, {x}, {}, f);
}
// x clamped to [0, 6]; the gradient is 0 at both ends.
template <Operand T>
T relu6(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("relu6");
  return ops_detail::call(op, {x}, {}, f);
}
// x * sigmoid(x).
template <Operand T>
T silu(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("silu");
  return ops_detail::call(op, {x}, {}, f);
}
// min(max(x, low), high); NaN passes through. For tensors as bounds use min() and max().
template <Operand T>
T clip(const T& x, double low = -std::numeric_limits<double>::infinity(),
       double high = std::numeric_limits<double>::infinity(), const Formats& f = Formats::dense()) {
  static const Name op("clip");
  return ops_detail::call(op, {x}, Attributes().set("min", low).set("max", high), f);
}

// BOOL results for all dtypes; NaN compares as in C. Constants on a tape.
template <Operand T>
T equal(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  static const Name op("equal");
  return ops_detail::call(op, {a, b}, {}, f);
}
template <Operand T>
T less(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  static const Name op("less");
  return ops_detail::call(op, {a, b}, {}, f);
}
template <Operand T>
T less_or_equal(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  static const Name op("less-or-equal");
  return ops_detail::call(op, {a, b}, {}, f);
}
template <Operand T>
T greater(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  static const Name op("greater");
  return ops_detail::call(op, {a, b}, {}, f);
}
template <Operand T>
T greater_or_equal(const T& a, const std::type_identity_t<T>& b,
                   const Formats& f = Formats::dense()) {
  static const Name op("greater-or-equal");
  return ops_detail::call(op, {a, b}, {}, f);
}

// For BOOL tensors. The operators are named "and", "or", "xor" and "not".
template <Operand T>
T logical_and(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  static const Name op("and");
  return ops_detail::call(op, {a, b}, {}, f);
}
template <Operand T>
T logical_or(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  static const Name op("or");
  return ops_detail::call(op, {a, b}, {}, f);
}
template <Operand T>
T logical_xor(const T& a, const std::type_identity_t<T>& b, const Formats& f = Formats::dense()) {
  static const Name op("xor");
  return ops_detail::call(op, {a, b}, {}, f);
}
template <Operand T>
T logical_not(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("not");
  return ops_detail::call(op, {x}, {}, f);
}

// x if the BOOL condition is true, else y; for any dtype.
template <Operand T>
T where(const T& condition, const std::type_identity_t<T>& x, const std::type_identity_t<T>& y,
        const Formats& f = Formats::dense()) {
  static const Name op("where");
  return ops_detail::call(op, {condition, x, y}, {}, f);
}

// Casts between BOOL, integers, and floats of at least 16 bits. Floats round to nearest even;
// integers round towards zero and keep their lowest bits; BOOL tells whether x is nonzero. A sparse
// x in a format of its layout keeps its positions.
template <Operand T>
T cast(const T& x, DType to, const Formats& f = Formats::dense()) {
  static const Name op("cast");
  return ops_detail::call(op, {x}, Attributes().set("to", std::string(name_of(to))), f);
}

// x itself.
template <Operand T>
T identity(const T& x, const Formats& f = Formats::dense()) {
  static const Name op("identity");
  return ops_detail::call(op, {x}, {}, f);
}

}  // namespace sten
