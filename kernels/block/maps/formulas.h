// Unary operators on float32 and their gradients from dy and the saved tensor: the formulas of
// libsten/compute/ops/elementwise/activation.cpp and elementwise.cpp.
#pragma once
#include <cmath>
#include <type_traits>
#include <utility>

#include "kernels/block/map_functions.h"

namespace sten::kernels {

// The formula of a MapFunction has the static functions
//   float value(float x, MapParameters p)
//   float grad(float dy, float saved, MapParameters p)
#define STEN_FORMULA(name, value_of, grad_of)                                                    \
  struct name {                                                                                  \
    STEN_DEVICE static float value([[maybe_unused]] float x, [[maybe_unused]] MapParameters p) { \
      return value_of;                                                                           \
    }                                                                                            \
    STEN_DEVICE static float grad([[maybe_unused]] float dy, [[maybe_unused]] float k,           \
                                  [[maybe_unused]] MapParameters p) {                            \
      return grad_of;                                                                            \
    }                                                                                            \
  }

namespace formulas {

inline constexpr float root_half = 0.70710678118654752440f;     // 1 / sqrt(2)
inline constexpr float density_at_0 = 0.39894228040143267794f;  // 1 / sqrt(2 pi)
inline constexpr float inv_sqrtpi = 0.56418958354775628695f;

STEN_DEVICE inline float sigmoid_of(float x) { return 1 / (1 + std::exp(-x)); }
STEN_DEVICE inline float sign_of(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x; }
STEN_DEVICE inline float positive(float x) { return x > 0 ? x : 0.0f; }
// NaN stays NaN.
STEN_DEVICE inline float at_least(float low, float x) { return x < low ? low : x; }
STEN_DEVICE inline float at_most(float high, float x) { return x > high ? high : x; }

STEN_FORMULA(Scale, x* p.a, dy* p.a);
STEN_FORMULA(Relu, x <= 0 ? 0.0f : x, k <= 0 ? 0.0f : dy);
STEN_FORMULA(Tanh, std::tanh(x), dy*(1 - k * k));
STEN_FORMULA(Sigmoid, sigmoid_of(x), dy* k*(1 - k));
// erfc keeps its precision for small probabilities; 1 + erf does not.
STEN_FORMULA(Gelu, x*(std::erfc(-x* root_half) / 2),
             dy*(std::erfc(-k* root_half) / 2 + k * density_at_0 * std::exp(-k * k / 2)));
struct GeluTanh {
  static constexpr float limit = 20, cubic = 0.044715f;
  static constexpr float twice = 4 * density_at_0;  // 2 sqrt(2 / pi)

  STEN_DEVICE static float share(float v) { return sigmoid_of(twice * v * (1 + cubic * v * v)); }
  STEN_DEVICE static float value(float x, MapParameters) {
    const float v = at_least(-limit, x);
    return v * share(at_most(limit, v));
  }
  STEN_DEVICE static float grad(float dy, float x, MapParameters) {
    const float v = at_most(limit, at_least(-limit, x)), s = share(v);
    const float slope = twice * v * (1 + 3 * cubic * v * v);
    return dy * s * (1 + (1 - s) * slope);
  }
};
struct Silu {
  STEN_DEVICE static float value(float x, MapParameters) {
    return at_least(-104, x) * sigmoid_of(x);
  }
  STEN_DEVICE static float grad(float dy, float x, MapParameters) {
    const float s = sigmoid_of(x);
    return dy * s * (1 + x * (1 - s));
  }
};

STEN_FORMULA(Abs, std::fabs(x), dy* sign_of(k));
STEN_FORMULA(Neg, -x, -dy);
STEN_FORMULA(Sign, sign_of(x), 0.0f);
STEN_FORMULA(Floor, std::floor(x), 0.0f);
STEN_FORMULA(Ceil, std::ceil(x), 0.0f);
STEN_FORMULA(Round, std::nearbyint(x), 0.0f);
STEN_FORMULA(Sqrt, std::sqrt(x), dy / (2 * k));
STEN_FORMULA(Exp, std::exp(x), dy* k);
STEN_FORMULA(Log, std::log(x), dy / k);
STEN_FORMULA(Reciprocal, 1 / x, -dy* k* k);
STEN_FORMULA(Erf, std::erf(x), dy * 2 * inv_sqrtpi * std::exp(-k * k));
STEN_FORMULA(Softplus, positive(x) + std::log1p(std::exp(-std::fabs(x))), dy / (1 + std::exp(-k)));
STEN_FORMULA(Elu, x<0 ? p.a * std::expm1(x) : x, k> 0 ? dy : dy* p.a* std::exp(k));
STEN_FORMULA(LeakyRelu, x<0 ? p.a * x : x, k> 0 ? dy : dy* p.a);
STEN_FORMULA(HardSigmoid, at_most(1, at_least(0, p.a* x + p.b)),
             p.a* k + p.b > 0 && p.a * k + p.b < 1 ? dy * p.a : 0.0f);
STEN_FORMULA(HardSwish,
             x <= -3  ? 0.0f
             : x >= 3 ? x
                      : x * (x / 6 + 0.5f),
             k <= -3  ? 0.0f
             : k >= 3 ? dy
                      : dy * (k / 3 + 0.5f));
STEN_FORMULA(Clip, at_most(p.b, at_least(p.a, x)), k >= p.a && k <= p.b ? dy : 0.0f);
STEN_FORMULA(Relu6, x <= 0 ? 0.0f : x > 6 ? 6.0f : x, k <= 0 || k >= 6 ? 0.0f : dy);
STEN_FORMULA(Sin, std::sin(x), dy* std::cos(k));
STEN_FORMULA(Cos, std::cos(x), -dy* std::sin(k));
STEN_FORMULA(Tan, std::tan(x), dy*(1 + k * k));
STEN_FORMULA(Asin, std::asin(x), dy / std::sqrt((1 - k) * (1 + k)));
STEN_FORMULA(Acos, std::acos(x), -dy / std::sqrt((1 - k) * (1 + k)));
STEN_FORMULA(Atan, std::atan(x), dy / (1 + k * k));
STEN_FORMULA(Sinh, std::sinh(x), dy* std::cosh(k));
STEN_FORMULA(Cosh, std::cosh(x), dy* std::sinh(k));
STEN_FORMULA(Asinh, std::asinh(x), dy / std::hypot(k, 1.0f));
STEN_FORMULA(Acosh, std::acosh(x), dy / (std::sqrt(k - 1) * std::sqrt(k + 1)));
STEN_FORMULA(Atanh, std::atanh(x), dy / ((1 - k) * (1 + k)));
STEN_FORMULA(Selu, p.b*(x < 0 ? p.a * std::expm1(x) : x), dy* p.b*(k > 0 ? 1 : p.a * std::exp(k)));
STEN_FORMULA(Celu, x<0 ? p.a * std::expm1(x / p.a) : x, k> 0 ? dy : dy* std::exp(k / p.a));
STEN_FORMULA(ThresholdedRelu, x <= p.a ? 0.0f : x, k > p.a ? dy : 0.0f);
STEN_FORMULA(Softsign, x / (1 + std::fabs(x)), dy / ((1 + std::fabs(k)) * (1 + std::fabs(k))));
struct Mish {
  STEN_DEVICE static float value(float x, MapParameters) {
    if (x > 20) return x;
    const float e = std::exp(x), w = e * (e + 2);
    return x * (w / (w + 2));
  }
  STEN_DEVICE static float grad(float dy, float x, MapParameters) {
    if (x > 20) return dy;
    const float e = std::exp(x), w = e * (e + 2);
    return dy * (w / (w + 2) + x * 4 * e * (e + 1) / ((w + 2) * (w + 2)));
  }
};
STEN_FORMULA(Shrink,
             x<-p.a ? x + p.b : x> p.a ? x - p.b
             : x != x                  ? x
                                       : 0.0f,
             k<-p.a || k> p.a ? dy : 0.0f);

}  // namespace formulas
#undef STEN_FORMULA

// Calls run(the formula of f).
template <class Run>
void with_formula(MapFunction f, Run&& run) {
  using F = MapFunction;
  switch (f) {
    case F::scale:
      return run(formulas::Scale{});
    case F::relu:
      return run(formulas::Relu{});
    case F::gelu:
      return run(formulas::Gelu{});
    case F::gelu_tanh:
      return run(formulas::GeluTanh{});
    case F::tanh:
      return run(formulas::Tanh{});
    case F::sigmoid:
      return run(formulas::Sigmoid{});
    case F::silu:
      return run(formulas::Silu{});
    case F::abs:
      return run(formulas::Abs{});
    case F::neg:
      return run(formulas::Neg{});
    case F::sign:
      return run(formulas::Sign{});
    case F::floor:
      return run(formulas::Floor{});
    case F::ceil:
      return run(formulas::Ceil{});
    case F::round:
      return run(formulas::Round{});
    case F::sqrt:
      return run(formulas::Sqrt{});
    case F::exp:
      return run(formulas::Exp{});
    case F::log:
      return run(formulas::Log{});
    case F::reciprocal:
      return run(formulas::Reciprocal{});
    case F::erf:
      return run(formulas::Erf{});
    case F::softplus:
      return run(formulas::Softplus{});
    case F::elu:
      return run(formulas::Elu{});
    case F::leaky_relu:
      return run(formulas::LeakyRelu{});
    case F::hard_sigmoid:
      return run(formulas::HardSigmoid{});
    case F::hard_swish:
      return run(formulas::HardSwish{});
    case F::clip:
      return run(formulas::Clip{});
    case F::relu6:
      return run(formulas::Relu6{});
    case F::sin:
      return run(formulas::Sin{});
    case F::cos:
      return run(formulas::Cos{});
    case F::tan:
      return run(formulas::Tan{});
    case F::asin:
      return run(formulas::Asin{});
    case F::acos:
      return run(formulas::Acos{});
    case F::atan:
      return run(formulas::Atan{});
    case F::sinh:
      return run(formulas::Sinh{});
    case F::cosh:
      return run(formulas::Cosh{});
    case F::asinh:
      return run(formulas::Asinh{});
    case F::acosh:
      return run(formulas::Acosh{});
    case F::atanh:
      return run(formulas::Atanh{});
    case F::selu:
      return run(formulas::Selu{});
    case F::celu:
      return run(formulas::Celu{});
    case F::thresholded_relu:
      return run(formulas::ThresholdedRelu{});
    case F::softsign:
      return run(formulas::Softsign{});
    case F::mish:
      return run(formulas::Mish{});
    case F::shrink:
      return run(formulas::Shrink{});
  }
}

}  // namespace sten::kernels
