// Elementwise functions of ONNX, in a table, with ONNX's names of attributes.
#include <cmath>
#include <limits>
#include <numbers>

#include "libsten/compute/ops/common/elements.h"
#include "libsten/compute/ops/common/float_map.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/elementwise/unary.h"

namespace sten {
namespace {

// Up to two parameters of a function.
template <class T>
struct Parameters {
  T a, b;
};
struct ScalarAttribute {
  const char* name = "";
  double fallback = 0;
};

template <class T>
struct UnaryKernel {
  void (*f)(Parameters<T> p, const T* x, Index n, T* y) = nullptr;
  // saved: x or y, whichever the operator saves for backward.
  void (*g)(Parameters<T> p, const T* dy, const T* saved, Index n, T* dx) = nullptr;
};

struct UnaryRow {
  const char* name;
  SavedForBackward saves;
  bool zero_to_zero;
  ByType<UnaryKernel> kernels;
  ScalarAttribute a, b;
};

template <class T, class F>
void each_f(Parameters<T> p, const T* x, Index n, T* y) {
  for (Index i = 0; i < n; ++i) y[i] = F{}(x[i], p);
}
template <class T, class G>
void each_g(Parameters<T> p, const T* dy, const T* saved, Index n, T* dx) {
  for (Index i = 0; i < n; ++i) dx[i] = G{}(dy[i], saved[i], p);
}

// f(x, p), and its gradient g(dy, x or y, p).
template <class F, class G>
constexpr UnaryRow row(const char* name, SavedForBackward saves, bool zero_to_zero, F, G,
                       ScalarAttribute a = {}, ScalarAttribute b = {}) {
  return {name,
          saves,
          zero_to_zero,
          {{each_f<float, F>, each_g<float, G>}, {each_f<double, F>, each_g<double, G>}},
          a,
          b};
}
// Also for integers, which wrap.
template <class F, class G>
constexpr UnaryRow scalar_row(const char* name, SavedForBackward saves, F f, G g) {
  UnaryRow r = row(name, saves, true, f, g);
  r.kernels.i64.f = each_f<std::int64_t, F>;
  return r;
}
// A step function, with gradient 0.
template <class F>
constexpr UnaryRow step_row(const char* name, F f) {
  return row(name, SavedForBackward::nothing, true, f,
             [](auto dy, auto, auto) { return decltype(dy){0}; });
}

constexpr auto negative = [](auto x, auto) {
  if constexpr (std::integral<decltype(x)>)
    return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(x));
  else
    return -x;
};
constexpr auto sign = [](auto x, auto) {
  using T = decltype(x);
  return x > 0 ? T{1} : x < 0 ? T{-1} : x;
};
constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr UnaryRow unary_rows[] = {
    scalar_row(
        "abs", SavedForBackward::inputs,
        [](auto x, auto p) {
          if constexpr (std::integral<decltype(x)>)
            return x < 0 ? negative(x, p) : x;
          else
            return std::abs(x);
        },
        [](auto dy, auto x, auto p) { return dy * sign(x, p); }),
    scalar_row("neg", SavedForBackward::nothing, negative, [](auto dy, auto, auto) { return -dy; }),
    scalar_row("sign", SavedForBackward::nothing, sign,
               [](auto dy, auto, auto) { return decltype(dy){0}; }),
    step_row("floor", [](auto x, auto) { return std::floor(x); }),
    step_row("ceil", [](auto x, auto) { return std::ceil(x); }),
    step_row("round", [](auto x, auto) { return std::nearbyint(x); }),
    row(
        "sqrt", SavedForBackward::outputs, true, [](auto x, auto) { return std::sqrt(x); },
        [](auto dy, auto y, auto) { return dy / (2 * y); }),
    row(
        "exp", SavedForBackward::outputs, false, [](auto x, auto) { return std::exp(x); },
        [](auto dy, auto y, auto) { return dy * y; }),
    row(
        "log", SavedForBackward::inputs, false, [](auto x, auto) { return std::log(x); },
        [](auto dy, auto x, auto) { return dy / x; }),
    row(
        "reciprocal", SavedForBackward::outputs, false, [](auto x, auto) { return 1 / x; },
        [](auto dy, auto y, auto) { return -dy * y * y; }),
    row(
        "erf", SavedForBackward::inputs, true, [](auto x, auto) { return std::erf(x); },
        [](auto dy, auto x, auto) {
          return dy * 2 * std::numbers::inv_sqrtpi_v<decltype(x)> * std::exp(-x * x);
        }),
    row(
        "softplus", SavedForBackward::inputs, false,
        [](auto x, auto) {
          return (x > 0 ? x : decltype(x){0}) + std::log1p(std::exp(-std::abs(x)));
        },
        [](auto dy, auto x, auto) { return dy / (1 + std::exp(-x)); }),
    row(
        "elu", SavedForBackward::inputs, true,
        [](auto x, auto p) { return x < 0 ? p.a * std::expm1(x) : x; },
        [](auto dy, auto x, auto p) { return x > 0 ? dy : dy * p.a * std::exp(x); }, {"alpha", 1}),
    row(
        "leaky-relu", SavedForBackward::inputs, true,
        [](auto x, auto p) { return x < 0 ? p.a * x : x; },
        [](auto dy, auto x, auto p) { return x > 0 ? dy : dy * p.a; }, {"alpha", 0.01}),
    row(
        "hard-sigmoid", SavedForBackward::inputs, false,
        [](auto x, auto p) {
          const auto y = p.a * x + p.b;
          return y < 0 ? decltype(x){0} : y > 1 ? decltype(x){1} : y;
        },
        [](auto dy, auto x, auto p) {
          const auto y = p.a * x + p.b, d = dy * p.a;
          return y > 0 ? y < 1 ? d : decltype(x){0} : decltype(x){0};
        },
        {"alpha", 0.2}, {"beta", 0.5}),
    row(
        "hard-swish", SavedForBackward::inputs, true,
        [](auto x, auto) {
          const auto between = x * (x / 6 + 1 / decltype(x){2});
          return x <= -3 ? decltype(x){0} : x >= 3 ? x : between;
        },
        [](auto dy, auto x, auto) {
          const auto between = dy * (x / 3 + 1 / decltype(x){2});
          return x <= -3 ? decltype(x){0} : x >= 3 ? dy : between;
        }),
    row(
        "clip", SavedForBackward::inputs, false,
        [](auto x, auto p) {
          const auto y = x < p.a ? p.a : x;
          return y > p.b ? p.b : y;
        },
        [](auto dy, auto x, auto p) { return x >= p.a && x <= p.b ? dy : decltype(x){0}; },
        {"min", -infinity}, {"max", infinity}),
    row(
        "relu6", SavedForBackward::inputs, true,
        [](auto x, auto) { return x <= 0  ? decltype(x){0}
                                  : x > 6 ? decltype(x){6}
                                          : x; },
        [](auto dy, auto x, auto) { return x <= 0 || x >= 6 ? decltype(x){0} : dy; }),
    row(
        "sin", SavedForBackward::inputs, true, [](auto x, auto) { return std::sin(x); },
        [](auto dy, auto x, auto) { return dy * std::cos(x); }),
    row(
        "cos", SavedForBackward::inputs, false, [](auto x, auto) { return std::cos(x); },
        [](auto dy, auto x, auto) { return -dy * std::sin(x); }),
    row(
        "tan", SavedForBackward::outputs, true, [](auto x, auto) { return std::tan(x); },
        [](auto dy, auto y, auto) { return dy * (1 + y * y); }),
    row(
        "asin", SavedForBackward::inputs, true, [](auto x, auto) { return std::asin(x); },
        [](auto dy, auto x, auto) { return dy / std::sqrt((1 - x) * (1 + x)); }),
    row(
        "acos", SavedForBackward::inputs, false, [](auto x, auto) { return std::acos(x); },
        [](auto dy, auto x, auto) { return -dy / std::sqrt((1 - x) * (1 + x)); }),
    row(
        "atan", SavedForBackward::inputs, true, [](auto x, auto) { return std::atan(x); },
        [](auto dy, auto x, auto) { return dy / (1 + x * x); }),
    row(
        "sinh", SavedForBackward::inputs, true, [](auto x, auto) { return std::sinh(x); },
        [](auto dy, auto x, auto) { return dy * std::cosh(x); }),
    row(
        "cosh", SavedForBackward::inputs, false, [](auto x, auto) { return std::cosh(x); },
        [](auto dy, auto x, auto) { return dy * std::sinh(x); }),
    row(
        "asinh", SavedForBackward::inputs, true, [](auto x, auto) { return std::asinh(x); },
        [](auto dy, auto x, auto) { return dy / std::hypot(x, decltype(x){1}); }),
    row(
        "acosh", SavedForBackward::inputs, false, [](auto x, auto) { return std::acosh(x); },
        [](auto dy, auto x, auto) { return dy / (std::sqrt(x - 1) * std::sqrt(x + 1)); }),
    row(
        "atanh", SavedForBackward::inputs, true, [](auto x, auto) { return std::atanh(x); },
        [](auto dy, auto x, auto) { return dy / ((1 - x) * (1 + x)); }),
    // Klambauer et al. 2017.
    row(
        "selu", SavedForBackward::inputs, true,
        [](auto x, auto p) { return p.b * (x < 0 ? p.a * std::expm1(x) : x); },
        [](auto dy, auto x, auto p) { return dy * p.b * (x > 0 ? 1 : p.a * std::exp(x)); },
        {"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}),
    // Barron 2017.
    row(
        "celu", SavedForBackward::inputs, true,
        [](auto x, auto p) { return x < 0 ? p.a * std::expm1(x / p.a) : x; },
        [](auto dy, auto x, auto p) { return x > 0 ? dy : dy * std::exp(x / p.a); }, {"alpha", 1}),
    row(
        "thresholded-relu", SavedForBackward::inputs, true,
        [](auto x, auto p) { return x <= p.a ? decltype(x){0} : x; },
        [](auto dy, auto x, auto p) { return x > p.a ? dy : decltype(x){0}; }, {"alpha", 1}),
    row(
        "softsign", SavedForBackward::inputs, true,
        [](auto x, auto) { return x / (1 + std::abs(x)); },
        [](auto dy, auto x, auto) {
          const auto by = 1 + std::abs(x);
          return dy / (by * by);
        }),
    // x tanh(log(1 + e^x)) = x (1 - 2 / (w + 2)), where w = e^x (e^x + 2) (Misra 2019).
    row(
        "mish", SavedForBackward::inputs, true,
        [](auto x, auto) {
          if (x > 20) return x;
          const auto e = std::exp(x), w = e * (e + 2);
          return x * (w / (w + 2));
        },
        [](auto dy, auto x, auto) {
          if (x > 20) return dy;
          const auto e = std::exp(x), w = e * (e + 2);
          return dy * (w / (w + 2) + x * 4 * e * (e + 1) / ((w + 2) * (w + 2)));
        }),
    row(
        "shrink", SavedForBackward::inputs, false,
        [](auto x, auto p) {
          return x < -p.a ? x + p.b : x > p.a ? x - p.b : x != x ? x : decltype(x){0};
        },
        [](auto dy, auto x, auto p) { return x < -p.a || x > p.a ? dy : decltype(x){0}; },
        {"lambd", 0.5}, {"bias", 0}),
};

template <class T>
struct RunF {
  UnaryKernel<T> kernel;
  Parameters<T> p;
  void run(const T* x, Index n, T* y) const { kernel.f(p, x, n, y); }
};
template <class T>
struct RunG {
  UnaryKernel<T> kernel;
  Parameters<T> p;
  void run(const T* dy, const T* saved, Index n, T* dx) const { kernel.g(p, dy, saved, n, dx); }
};

template <class T>
Parameters<T> numbers_of(const UnaryRow& row, const Attributes& given) {
  given.check(row.name, {row.a.name, row.b.name});
  return {static_cast<T>(given.number(row.a.name, row.a.fallback)),
          static_cast<T>(given.number(row.b.name, row.b.fallback))};
}

// Dense to dense, for the dtypes of the row.
Outputs run_row(const UnaryRow& row, const Call& call) {
  const Dense& given = call.in[0].as<Dense>();
  const DType in = computed_in(row.name, given.dtype());
  if (in == DType::I64 && !row.kernels.i64.f)
    fail_usage("{}: elements must be F32 or F64, got {}", row.name, name_of(given.dtype()));
  const Dense x = to_compute(row.name, given, in);
  return with_computed(in, [&]<class T>(T) -> Outputs {
    const T* from = x.values.as<T>().data();
    const auto f = row.kernels.of<T>().f;
    const Parameters<T> p = numbers_of<T>(row, call.attributes);
    const Dense y = dense_elements<T>(
        in, x.extents, [&](Index begin, Index end, T* to) { f(p, from + begin, end - begin, to); });
    return {Dense{y.extents, as_dtype(row.name, y.values, given.dtype())}};
  });
}

}  // namespace

FloatMap elementwise_map(std::string_view op, const Attributes& attributes) {
  for (const UnaryRow& row : unary_rows) {
    if (op != row.name) continue;
    const RunF<float> f{row.kernels.of<float>(), numbers_of<float>(row, attributes)};
    return [f](const float* x, Index n, float* y) { f.run(x, n, y); };
  }
  return {};
}

std::array<float, 2> elementwise_parameters(std::string_view op, const Attributes& attributes) {
  for (const UnaryRow& row : unary_rows) {
    if (op != row.name) continue;
    const auto p = numbers_of<float>(row, attributes);
    return {p.a, p.b};
  }
  fail("unknown elementwise operator {}", quote(op));
}

void add_elementwise(Operators& all) {
  for (const UnaryRow& row : unary_rows) {
    add_unary(all, row.name, row.saves, row.zero_to_zero, [&row]<class T>(T, const Call& call) {
      const Parameters<T> p = numbers_of<T>(row, call.attributes);
      return std::pair(RunF<T>{row.kernels.of<T>(), p}, RunG<T>{row.kernels.of<T>(), p});
    });
    all.add({row.name, {"dense"}, {{}}}, [&row](const Call& call) { return run_row(row, call); });
  }
}

}  // namespace sten
