// SPDX-License-Identifier: Apache-2.0
#include "kernels/functions.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tests/kernels/fenced.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Floats = std::vector<float>;
constexpr float infinity = std::numeric_limits<float>::infinity();
const std::vector<Index> sizes{0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 100};

// f(table) for every ISA of this machine.
template <class F>
void each_table(F&& f) {
  for (const kernels::Isa isa : kernels::all_isas) {
    const kernels::FunctionsTable* table = kernels::functions_for(isa);
    if (!table) continue;
    const std::string name = kernels::name_of(isa);
    CAPTURE(name);
    f(*table);
  }
}

double below(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }
double density(double x) {
  return std::exp(-x * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
}

// x (1 + tanh u) / 2, with the digits of small results.
double gelu_tanh(double x) {
  const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x / (1 + std::exp(-2 * u));
}

// The distance in neighbouring float32 around `exact`.
double ulps(float got, double exact) {
  const auto near = static_cast<float>(std::abs(exact));
  return std::abs(got - exact) / (std::nextafter(near, infinity) - near);
}

// Values of every relevant magnitude and both signs.
Floats numbers_of(Index n, std::uint64_t seed) {
  Dice dice(seed);
  Floats x(n);
  for (float& v : x) v = static_cast<float>(dice.normal() * std::exp2(8 * dice.uniform() - 5));
  return x;
}

using Function = void(const float*, std::int64_t, float*);

Floats applied(Function* f, const Floats& x) {
  Fenced<float> in(x), out(x.size());
  f(in.data(), std::ssize(x), out.data());
  return out.values();
}

template <class Exact>
void check_ulps(Function* f, Exact exact, double most) {
  const Floats x = numbers_of(20000, 1);
  const Floats y = applied(f, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double want = exact(double{x[i]});
    if (std::abs(want) < 1e-37) continue;
    if (!(ulps(y[i], want) <= most))
      FAIL_CHECK(x[i] << " gives " << y[i] << ", " << ulps(y[i], want) << " ulp from " << want);
  }
}

}  // namespace

TEST_CASE("tanh, sigmoid, gelu, gelu_tanh and silu are within 8 ulp under every ISA") {
  each_table([](const kernels::FunctionsTable& t) {
    check_ulps(
        t.tanh, [](double x) { return std::tanh(x); }, 4);
    check_ulps(
        t.sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 4);
    check_ulps(
        t.gelu, [](double x) { return x * below(x); }, 8);
    check_ulps(t.gelu_tanh, gelu_tanh, 8);
    check_ulps(
        t.silu, [](double x) { return x / (1 + std::exp(-x)); }, 5);
  });
}

TEST_CASE("the gradient of gelu is within 4e-7 of the formula under every ISA") {
  const Floats x = numbers_of(20000, 2), ones(x.size(), 1.0f);
  each_table([&](const kernels::FunctionsTable& t) {
    Fenced<float> dy(ones), in(x), dx(x.size());
    t.gelu_grad(dy.data(), in.data(), std::ssize(x), dx.data());
    const Floats got = dx.values();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = below(x[i]) + x[i] * density(x[i]);
      if (!(std::abs(got[i] - want) <= 4e-7)) FAIL_CHECK(x[i] << " gives " << got[i]);
    }
  });
}

TEST_CASE("activation functions handle NaN, infinities, signed zeros and subnormals") {
  const Floats x{std::nanf(""), infinity, -infinity, 0.0f, -0.0f, 1e30f, -1e30f, 1e-40f};
  each_table([&](const kernels::FunctionsTable& t) {
    const Floats h = applied(t.tanh, x), s = applied(t.sigmoid, x), g = applied(t.gelu, x);
    const Floats near = applied(t.gelu_tanh, x), u = applied(t.silu, x);
    for (const Floats& y : {h, s, g, near, u}) CHECK(std::isnan(y[0]));
    for (const Floats& y : {near, u})
      CHECK(Floats(y.begin() + 1, y.end() - 1) == Floats{infinity, 0, 0, 0, 1e30f, 0});
    CHECK(Floats(h.begin() + 1, h.end() - 1) == Floats{1, -1, 0, 0, 1, -1});
    CHECK(std::signbit(h[4]));
    CHECK(h[7] == x[7]);
    CHECK(Floats(s.begin() + 1, s.end()) == Floats{1, 0, 0.5f, 0.5f, 1, 0, 0.5f});
    CHECK(g[1] == infinity);
    CHECK(Floats(g.begin() + 3, g.end() - 1) == Floats{0, 0, 1e30f, 0});
  });
}

TEST_CASE("results of activation functions do not depend on array size or position") {
  each_table([](const kernels::FunctionsTable& t) {
    const Floats x = numbers_of(sizes.back(), 3), dy = numbers_of(sizes.back(), 4);
    for (Function* f : {t.tanh, t.sigmoid, t.gelu, t.gelu_tanh, t.silu}) {
      const Floats all = applied(f, x);
      for (const Index n : sizes) {
        const Floats some(x.end() - n, x.end());
        CHECK(applied(f, some) == Floats(all.end() - n, all.end()));
        Fenced<float> in_place(some);
        f(in_place.data(), n, in_place.data());
        CHECK(in_place.values() == Floats(all.end() - n, all.end()));
      }
    }
    Fenced<float> in(x), from(dy), all(x.size());
    t.gelu_grad(from.data(), in.data(), std::ssize(x), all.data());
    for (const Index n : sizes) {
      Fenced<float> some(n);
      const Index at = std::ssize(x) - n;
      t.gelu_grad(from.data() + at, in.data() + at, n, some.data());
      CHECK(some.values() == Floats(all.data() + at, all.data() + x.size()));
    }
  });
}

TEST_CASE("an AdamW step matches the formula to rounding under every ISA at any size") {
  const kernels::AdamWStep s{1e-3f, 2e-3f, 1.5f, 1e-8f, 0.1f, 1e-3f};
  for (const Index n : sizes) {
    const Floats w = numbers_of(n, 5), g = numbers_of(n, 6), m = numbers_of(n, 7);
    Floats v = numbers_of(n, 8);
    for (float& x : v) x = std::abs(x);
    each_table([&](const kernels::FunctionsTable& t) {
      Fenced<float> new_w(w), new_m(m), new_v(v), gradient(g);
      t.adamw(s, new_w.data(), gradient.data(), new_m.data(), new_v.data(), n);
      const Floats got_w = new_w.values(), got_m = new_m.values(), got_v = new_v.values();
      for (Index i = 0; i < n; ++i) {
        const double mi = m[i] + double{s.toward1} * (double{g[i]} - m[i]);
        const double vi = v[i] + double{s.toward2} * (double{g[i]} * g[i] - v[i]);
        const double by = s.rate * mi / (s.root * std::sqrt(vi) + s.eps);
        CHECK(got_m[i] == doctest::Approx(mi).epsilon(1e-5));
        CHECK(got_v[i] == doctest::Approx(vi).epsilon(1e-5));
        CHECK(std::abs(got_w[i] - (w[i] - s.decay * w[i] - by)) <=
              1e-6 * (std::abs(w[i]) + std::abs(by)));
      }
    });
  }
}
