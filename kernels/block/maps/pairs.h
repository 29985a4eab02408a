// Functions of two tensors, comparisons and choices.
#pragma once
#include <cmath>

#include "kernels/block/elementwise/groups.h"
#include "kernels/block/maps/walk.h"

namespace sten::kernels {

// As libsten/ops/binary.cpp has them for the CPU.
namespace formulas {

// Without the function for squares, which are most, and their slopes.
STEN_DEVICE inline float power(float a, float b) {
  return b == 2 ? a * a : b == 1 ? a : std::pow(a, b);
}
STEN_DEVICE inline float if_less(float dy, float a, float b) {
  return a == b ? dy / 2 : a > b ? 0.0f : dy;
}

struct Add {
  STEN_DEVICE static float value(float a, float b) { return a + b; }
};
struct Sub {
  STEN_DEVICE static float value(float a, float b) { return a - b; }
};
struct Mul {
  STEN_DEVICE static float value(float a, float b) { return a * b; }
  STEN_DEVICE static float grad_a(float dy, float, float b) { return dy * b; }
  STEN_DEVICE static float grad_b(float dy, float a, float) { return dy * a; }
};
struct Div {
  STEN_DEVICE static float value(float a, float b) { return a / b; }
  STEN_DEVICE static float grad_a(float dy, float, float b) { return dy / b; }
  STEN_DEVICE static float grad_b(float dy, float a, float b) { return -dy * (a / b / b); }
};
struct Pow {
  STEN_DEVICE static float value(float a, float b) { return power(a, b); }
  STEN_DEVICE static float grad_a(float dy, float a, float b) {
    return b == 0 ? b : dy * b * power(a, b - 1);
  }
  STEN_DEVICE static float grad_b(float dy, float a, float b) {
    return a == 0 && b >= 0 ? a : dy * power(a, b) * std::log(a);
  }
};
struct PRelu {
  STEN_DEVICE static float value(float a, float b) { return a < 0 ? a * b : a; }
  STEN_DEVICE static float grad_a(float dy, float a, float b) { return a > 0 ? dy : dy * b; }
  STEN_DEVICE static float grad_b(float dy, float a, float) { return a < 0 ? dy * a : 0.0f; }
};
struct Min {
  STEN_DEVICE static float value(float a, float b) { return a < b || a != a ? a : b; }
  STEN_DEVICE static float grad_a(float dy, float a, float b) { return if_less(dy, a, b); }
  STEN_DEVICE static float grad_b(float dy, float a, float b) { return if_less(dy, b, a); }
};
struct Max {
  STEN_DEVICE static float value(float a, float b) { return a > b || a != a ? a : b; }
  STEN_DEVICE static float grad_a(float dy, float a, float b) { return if_less(dy, b, a); }
  STEN_DEVICE static float grad_b(float dy, float a, float b) { return if_less(dy, a, b); }
};

struct Equal {
  template <class T>
  STEN_DEVICE static bool value(T a, T b) {
    return a == b;
  }
};
struct Less {
  template <class T>
  STEN_DEVICE static bool value(T a, T b) {
    return a < b;
  }
};
struct LessOrEqual {
  template <class T>
  STEN_DEVICE static bool value(T a, T b) {
    return a <= b;
  }
};
struct And {
  STEN_DEVICE static bool value(std::uint8_t a, std::uint8_t b) { return a != 0 && b != 0; }
};
struct Or {
  STEN_DEVICE static bool value(std::uint8_t a, std::uint8_t b) { return a != 0 || b != 0; }
};
struct Xor {
  STEN_DEVICE static bool value(std::uint8_t a, std::uint8_t b) { return (a != 0) != (b != 0); }
};

}  // namespace formulas

// run(the formula of f).
template <class Run>
void with_formula(PairFunction f, Run&& run) {
  switch (f) {
    case PairFunction::add:
      return run(formulas::Add{});
    case PairFunction::sub:
      return run(formulas::Sub{});
    case PairFunction::mul:
      return run(formulas::Mul{});
    case PairFunction::div:
      return run(formulas::Div{});
    case PairFunction::pow:
      return run(formulas::Pow{});
    case PairFunction::p_relu:
      return run(formulas::PRelu{});
    case PairFunction::min:
      return run(formulas::Min{});
    case PairFunction::max:
      return run(formulas::Max{});
  }
}

template <class F, class T, class To>
struct PairWalked {
  const T *a, *b;
  To* to;
  STEN_DEVICE void operator()(std::uint32_t i, const std::int64_t (&at)[2]) const {
    to[i] = static_cast<To>(F::value(a[at[0]], b[at[1]]));
  }
};

template <class F, int which>
struct PairGradWalked {
  const float *dy, *a, *b;
  float* to;
  STEN_DEVICE void operator()(std::uint32_t i, const std::int64_t (&at)[2]) const {
    if constexpr (which == 0)
      to[i] = F::grad_a(dy[i], a[at[0]], b[at[1]]);
    else
      to[i] = F::grad_b(dy[i], a[at[0]], b[at[1]]);
  }
};

// Where both have the elements of the result, in its order.
template <class F>
struct PairGroup {
  static constexpr int groups = piece_threads;
  std::int64_t n;
  const float *a, *b;
  float* to;

  STEN_DEVICE void operator()(std::int64_t g) const {
    Group<float> x = load_group(a, n, g);
    const Group<float> y = load_group(b, n, g);
    for (int i = 0; i < 8; ++i) x.at[i] = F::value(x.at[i], y.at[i]);
    store_group(to, n, g, x);
  }
};

template <class U>
struct ChooseWalked {
  const std::uint8_t* c;
  const U *x, *y;
  U* to;
  STEN_DEVICE void operator()(std::uint32_t i, const std::int64_t (&at)[3]) const {
    to[i] = c[at[0]] ? x[at[1]] : y[at[2]];
  }
};

struct KeepChosenWalked {
  bool is_wanted;
  const std::uint8_t* c;
  const float* x;
  float* to;
  STEN_DEVICE void operator()(std::uint32_t i, const std::int64_t (&at)[1]) const {
    to[i] = (c[at[0]] != 0) == is_wanted ? x[i] : 0.0f;
  }
};

template <class Grid>
struct PairsOn {
  static bool is_flat(const MapAxes& axes) {
    return axes.count == 1 && axes.at[0].steps[0] == 1 && axes.at[0].steps[1] == 1;
  }

  static void pair(PairFunction f, const MapAxes& axes, const float* a, const float* b, float* to,
                   Stream stream) {
    Grid grid(stream);
    with_formula(f, [&]<class F>(F) {
      if (is_flat(axes)) {
        const std::int64_t n = size_of(axes);
        grid.launch(EachGroup<PairGroup<F>>{{n, a, b, to}, n});
      } else {
        launch_walk<2>(grid, axes, [&](const WalkStart& s) {
          return PairWalked<F, float, float>{a + s.at[0], b + s.at[1], to + s.i};
        });
      }
    });
  }
  static void pair_grad(PairFunction f, int which, const MapAxes& axes, const float* dy,
                        const float* a, const float* b, float* to, Stream stream) {
    Grid grid(stream);
    with_formula(f, [&]<class F>(F) {
      if constexpr (requires { F::grad_a(0, 0, 0); }) {
        if (which == 0)
          launch_walk<2>(grid, axes, [&](const WalkStart& s) {
            return PairGradWalked<F, 0>{dy + s.i, a + s.at[0], b + s.at[1], to + s.i};
          });
        else
          launch_walk<2>(grid, axes, [&](const WalkStart& s) {
            return PairGradWalked<F, 1>{dy + s.i, a + s.at[0], b + s.at[1], to + s.i};
          });
      }
    });
  }

  template <class F, class T>
  static void test_of(Grid& grid, const MapAxes& axes, const void* a, const void* b,
                      std::uint8_t* to) {
    const auto *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
    launch_walk<2>(grid, axes, [&](const WalkStart& s) {
      return PairWalked<F, T, std::uint8_t>{x + s.at[0], y + s.at[1], to + s.i};
    });
  }
  template <class F>
  static void compare(Grid& grid, ElementKind kind, const MapAxes& axes, const void* a,
                      const void* b, std::uint8_t* to) {
    if (kind == ElementKind::f32)
      test_of<F, float>(grid, axes, a, b, to);
    else
      test_of<F, std::int64_t>(grid, axes, a, b, to);
  }
  static void test(PairTest test, ElementKind kind, const MapAxes& axes, const void* a,
                   const void* b, std::uint8_t* to, Stream stream) {
    Grid grid(stream);
    switch (test) {
      case PairTest::equal:
        return compare<formulas::Equal>(grid, kind, axes, a, b, to);
      case PairTest::less:
        return compare<formulas::Less>(grid, kind, axes, a, b, to);
      case PairTest::less_or_equal:
        return compare<formulas::LessOrEqual>(grid, kind, axes, a, b, to);
      case PairTest::logical_and:
        return test_of<formulas::And, std::uint8_t>(grid, axes, a, b, to);
      case PairTest::logical_or:
        return test_of<formulas::Or, std::uint8_t>(grid, axes, a, b, to);
      case PairTest::logical_xor:
        return test_of<formulas::Xor, std::uint8_t>(grid, axes, a, b, to);
    }
  }

  static void choose(int width, const MapAxes& axes, const std::uint8_t* c, const void* x,
                     const void* y, void* to, Stream stream) {
    Grid grid(stream);
    with_unsigned(width, [&]<class U>(U) {
      const auto *px = static_cast<const U*>(x), *py = static_cast<const U*>(y);
      launch_walk<3>(grid, axes, [&](const WalkStart& s) {
        return ChooseWalked<U>{c + s.at[0], px + s.at[1], py + s.at[2], static_cast<U*>(to) + s.i};
      });
    });
  }
  static void keep_chosen(bool is_wanted, const MapAxes& axes, const std::uint8_t* c,
                          const float* x, float* to, Stream stream) {
    Grid grid(stream);
    launch_walk<1>(grid, axes, [&](const WalkStart& s) {
      return KeepChosenWalked{is_wanted, c + s.at[0], x + s.i, to + s.i};
    });
  }
};

}  // namespace sten::kernels
