#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/functions.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/elementwise/dropout.h"
#include "libsten/compute/ops/elementwise/unary.h"
#include "libsten/core/base/random.h"

namespace sten {

namespace {

void add_scale(Operators& all) {
  add_unary(all, "scale", SavedForBackward::nothing, true, []<class T>(T, const Call& call) {
    call.attributes.check("scale", {"by"});
    const T by = static_cast<T>(call.attributes.number("by", 1));
    return std::pair([by](T x, Index) { return x * by; }, [by](T dy, T, Index) { return dy * by; });
  });
}

// NaN and its gradient pass through.
void add_relu(Operators& all) {
  add_unary(all, "relu", SavedForBackward::outputs, true, []<class T>(T, const Call& call) {
    call.attributes.check("relu", {});
    return std::pair([](T x, Index) { return x <= 0 ? T{0} : x; },
                     [](T dy, T y, Index) { return y <= 0 ? T{0} : dy; });
  });
}

// F32 by kernels, F64 by the formula.
template <class T, class Formula, class Run>
auto formula_or(Formula formula, Run run) {
  if constexpr (std::same_as<T, float>)
    return run;
  else
    return formula;
}

using Forward = void(const float*, std::int64_t, float*);
struct ForwardKernel {
  Forward* run;
};

void add_tanh(Operators& all) {
  add_unary(all, "tanh", SavedForBackward::outputs, true, []<class T>(T, const Call& call) {
    call.attributes.check("tanh", {});
    return std::pair(formula_or<T>([](T x, Index) { return std::tanh(x); },
                                   ForwardKernel{kernels::functions().tanh}),
                     [](T dy, T y, Index) { return dy * (1 - y * y); });
  });
}

void add_sigmoid(Operators& all) {
  add_unary(all, "sigmoid", SavedForBackward::outputs, false, []<class T>(T, const Call& call) {
    call.attributes.check("sigmoid", {});
    return std::pair(formula_or<T>([](T x, Index) { return 1 / (1 + std::exp(-x)); },
                                   ForwardKernel{kernels::functions().sigmoid}),
                     [](T dy, T y, Index) { return dy * y * (1 - y); });
  });
}

struct GeluGrad {
  void run(const float* dy, const float* x, Index n, float* dx) const {
    kernels::functions().gelu_grad(dy, x, n, dx);
  }
};

// x P(X <= x) for a standard normal X, whose density is that of exp(-x^2 / 2). erfc keeps the
// digits of small probabilities, which 1 + erf loses.
void add_gelu(Operators& all) {
  add_unary(all, "gelu", SavedForBackward::inputs, true, []<class T>(T, const Call& call) {
    call.attributes.check("gelu", {});
    constexpr T root = 1 / std::numbers::sqrt2_v<T>;
    constexpr T density = root * std::numbers::inv_sqrtpi_v<T>;
    return std::pair(formula_or<T>([](T x, Index) { return x / 2 * std::erfc(-x * root); },
                                   ForwardKernel{kernels::functions().gelu}),
                     formula_or<T>(
                         [](T dy, T x, Index) {
                           const T below = std::erfc(-x * root) / 2;
                           return dy * (below + x * density * std::exp(-x * x / 2));
                         },
                         GeluGrad{}));
  });
}

// x / 2 (1 + tanh u) = x / (1 + e^-2u) with u = sqrt(2 / pi) (x + 0.044715 x^3) (Hendrycks and
// Gimpel 2016). For |x| >= limit the quotient is 0 or 1, so x is clamped to avoid overflow of its
// powers.
template <class T>
struct GeluTanh {
  static constexpr T limit = 20, cubic = static_cast<T>(0.044715);
  static constexpr T twice = 2 * std::numbers::sqrt2_v<T> * std::numbers::inv_sqrtpi_v<T>;
  static constexpr Index at_once = 512;

  // By value, unlike std::clamp, so that compilers vectorize. NaN passes through.
  static T from_limit(T x) { return x < -limit ? -limit : x; }
  static T within(T x) {
    const T v = from_limit(x);
    return v > limit ? limit : v;
  }
  // Computes 1 / (1 + e^-2u).
  static void shares(const T* x, Index n, T* to) {
    for (Index i = 0; i < n; ++i) {
      const T v = within(x[i]);
      to[i] = twice * v * (1 + cubic * v * v);
    }
    if constexpr (std::same_as<T, float>)
      kernels::functions().sigmoid(to, n, to);
    else
      for (Index i = 0; i < n; ++i) to[i] = 1 / (1 + std::exp(-to[i]));
  }
  // Calls f(i, 1 / (1 + e^-2u)).
  template <class F>
  static void each(const T* x, Index n, F f) {
    T share[at_once];
    for (Index i = 0; i < n; i += at_once) {
      const Index count = std::min(at_once, n - i);
      shares(x + i, count, share);
      for (Index k = 0; k < count; ++k) f(i + k, share[k]);
    }
  }
};
template <class T>
struct GeluTanhForward {
  void run(const T* x, Index n, T* y) const {
    using G = GeluTanh<T>;
    G::each(x, n, [=](Index i, T share) { y[i] = G::from_limit(x[i]) * share; });
  }
};
template <class T>
struct GeluTanhGrad {
  void run(const T* dy, const T* x, Index n, T* dx) const {
    using G = GeluTanh<T>;
    G::each(x, n, [=](Index i, T share) {
      const T v = G::within(x[i]);
      const T slope = G::twice * v * (1 + 3 * G::cubic * v * v);
      dx[i] = dy[i] * share * (1 + (1 - share) * slope);
    });
  }
};

void add_gelu_tanh(Operators& all) {
  add_unary(all, "gelu-tanh", SavedForBackward::inputs, true, []<class T>(T, const Call& call) {
    call.attributes.check("gelu-tanh", {});
    if constexpr (std::same_as<T, float>)
      return std::pair(ForwardKernel{kernels::functions().gelu_tanh}, GeluTanhGrad<T>{});
    else
      return std::pair(GeluTanhForward<T>{}, GeluTanhGrad<T>{});
  });
}

// x * sigmoid(x) (Elfwing et al. 2017).
template <class T>
struct Silu {
  static constexpr Index at_once = 512;

  // Calls f(i, sigmoid(x[i])).
  template <class F>
  static void each(const T* x, Index n, F f) {
    T share[at_once];
    for (Index i = 0; i < n; i += at_once) {
      const Index count = std::min(at_once, n - i);
      if constexpr (std::same_as<T, float>)
        kernels::functions().sigmoid(x + i, count, share);
      else
        for (Index k = 0; k < count; ++k) share[k] = 1 / (1 + std::exp(-x[i + k]));
      for (Index k = 0; k < count; ++k) f(i + k, share[k]);
    }
  }
};
template <class T>
struct SiluForward {
  void run(const T* x, Index n, T* y) const {
    Silu<T>::each(x, n, [=](Index i, T share) { y[i] = x[i] * share; });
  }
};
template <class T>
struct SiluGrad {
  void run(const T* dy, const T* x, Index n, T* dx) const {
    Silu<T>::each(x, n,
                  [=](Index i, T share) { dx[i] = dy[i] * share * (1 + x[i] * (1 - share)); });
  }
};

void add_silu(Operators& all) {
  add_unary(all, "silu", SavedForBackward::inputs, true, []<class T>(T, const Call& call) {
    call.attributes.check("silu", {});
    if constexpr (std::same_as<T, float>)
      return std::pair(ForwardKernel{kernels::functions().silu}, SiluGrad<T>{});
    else
      return std::pair(SiluForward<T>{}, SiluGrad<T>{});
  });
}

// Value i of the stream decides on element i.
Outputs drop_elements(const Call& call) {
  const DropoutCall given(call, 1);
  const double p = given.p;
  std::uint64_t seed = given.seed;
  if (given.draw)
    seed = random_bits(seed, static_cast<std::uint64_t>(given.draw->values.as<std::int64_t>()[0]));
  const Dense& x = call.in[0].as<Dense>();
  Outputs out(call.formats.size());
  if (!call.wants(0)) return out;
  out[0] = with_real("dropout", x.dtype(), [&]<class T>(T) {
    const T* from = x.values.as<T>().data();
    const T by = static_cast<T>(given.scale());
    return write_elements<T>(call.out(), x.extents, [&](Index begin, Index end, T* to) {
      for (Index i = begin; i < end; ++i)
        to[i - begin] =
            random_uniform(seed, static_cast<std::uint64_t>(i)) >= p ? from[i] * by : T{0};
    });
  });
  return out;
}

void add_dropout(Operators& all) {
  all.declare("dropout", {SavedForBackward::others});
  for (const std::size_t inputs : {1, 2}) {
    const std::vector<Name> in(inputs, Name("dense"));
    add_streamed(all, "dropout", in, 1, drop_elements);
    // Drops the same elements of the gradient.
    add_streamed(all, "dropout.grad", in, inputs, drop_elements);
  }
}

}  // namespace

DropoutCall::DropoutCall(const Call& call, std::size_t first) {
  call.attributes.check("dropout", {"p", "seed"});
  p = call.attributes.number("p", 0.5);
  if (!(p >= 0 && p <= 1)) fail_usage("dropout: p must be in [0, 1], got {}", p);
  seed = static_cast<std::uint64_t>(call.attributes.integer("seed", 0));
  if (call.in.size() <= first) return;
  draw = &call.in[first].as<Dense>();
  if (draw->dtype() != DType::I64 || draw->size() != 1)
    fail_usage("dropout: 'draw' must be one I64 value, got {} {}", name_of(draw->dtype()),
               to_string(draw->extents));
}

void add_activations(Operators& all) {
  add_scale(all);
  add_relu(all);
  add_gelu(all);
  add_gelu_tanh(all);
  add_tanh(all);
  add_sigmoid(all);
  add_silu(all);
  add_dropout(all);
}

}  // namespace sten
