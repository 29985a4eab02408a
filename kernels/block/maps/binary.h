// SPDX-License-Identifier: Apache-2.0
// Binary operators, comparisons and where.
#pragma once
#include "kernels/block/elementwise/groups.h"
#include "kernels/block/map_functions.h"
#include "kernels/block/maps/walk.h"

namespace sten::kernels {

template <class F, class T, class To>
struct BinaryElement {
  const T *a, *b;
  To* to;
  STEN_DEVICE void operator()(std::uint32_t i, const std::int64_t (&at)[2]) const {
    to[i] = static_cast<To>(F::value(a[at[0]], b[at[1]]));
  }
};

template <class F, int which>
struct BinaryGradElement {
  const float *dy, *a, *b;
  float* to;
  STEN_DEVICE void operator()(std::uint32_t i, const std::int64_t (&at)[2]) const {
    if constexpr (which == 0)
      to[i] = F::grad_a(dy[i], a[at[0]], b[at[1]]);
    else
      to[i] = F::grad_b(dy[i], a[at[0]], b[at[1]]);
  }
};

// For operands that both have the shape and order of the result.
template <class F>
struct BinaryGroup {
  static constexpr int groups = segment_threads;
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

// Writes one byte per element.
template <class F, class T>
struct TestGroup {
  static constexpr int groups = segment_threads;
  std::int64_t n;
  const T* x;
  std::uint8_t* to;

  STEN_DEVICE void operator()(std::int64_t g) const {
    const Group<T> v = load_group(x, n, g);
    Group<std::uint8_t> is;
    for (int i = 0; i < 8; ++i) is.at[i] = F::value(v.at[i]) ? 1 : 0;
    store_group(to, n, g, is);
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
struct BinaryOn {
  static bool is_flat(const MapAxes& axes) {
    return axes.count == 1 && axes.at[0].steps[0] == 1 && axes.at[0].steps[1] == 1;
  }

  static void binary(BinaryFunction f, const MapAxes& axes, const float* a, const float* b,
                     float* to, Stream stream) {
    Grid grid(stream);
    with_formula(f, [&]<class F>(F) {
      if (is_flat(axes)) {
        const std::int64_t n = size_of(axes);
        grid.launch(EachGroup<BinaryGroup<F>>{{n, a, b, to}, n});
      } else {
        launch_walk<2>(grid, axes, [&](const WalkStart& s) {
          return BinaryElement<F, float, float>{a + s.at[0], b + s.at[1], to + s.i};
        });
      }
    });
  }
  static void binary_grad(BinaryFunction f, int which, const MapAxes& axes, const float* dy,
                          const float* a, const float* b, float* to, Stream stream) {
    Grid grid(stream);
    with_formula(f, [&]<class F>(F) {
      if (which == 0)
        launch_walk<2>(grid, axes, [&](const WalkStart& s) {
          return BinaryGradElement<F, 0>{dy + s.i, a + s.at[0], b + s.at[1], to + s.i};
        });
      else
        launch_walk<2>(grid, axes, [&](const WalkStart& s) {
          return BinaryGradElement<F, 1>{dy + s.i, a + s.at[0], b + s.at[1], to + s.i};
        });
    });
  }

  template <class F, class T>
  static void compare_as(Grid& grid, const MapAxes& axes, const void* a, const void* b,
                         std::uint8_t* to) {
    const auto *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
    launch_walk<2>(grid, axes, [&](const WalkStart& s) {
      return BinaryElement<F, T, std::uint8_t>{x + s.at[0], y + s.at[1], to + s.i};
    });
  }
  static void compare(Comparison f, ElementKind kind, const MapAxes& axes, const void* a,
                      const void* b, std::uint8_t* to, Stream stream) {
    Grid grid(stream);
    with_formula(f, [&]<class F>(F) {
      if constexpr (F::elements == ComparedElements::truths)
        compare_as<F, std::uint8_t>(grid, axes, a, b, to);
      else if (kind == ElementKind::f32)
        compare_as<F, float>(grid, axes, a, b, to);
      else
        compare_as<F, std::int64_t>(grid, axes, a, b, to);
    });
  }

  template <class F, class T>
  static void test_each(std::int64_t n, const void* x, std::uint8_t* to, Stream stream) {
    Grid(stream).launch(EachGroup<TestGroup<F, T>>{{n, static_cast<const T*>(x), to}, n});
  }
  static void test_one(UnaryTest test, std::int64_t n, const void* x, std::uint8_t* to,
                       Stream stream) {
    switch (test) {
      case UnaryTest::is_nan:
        return test_each<unary_test::is_nan, float>(n, x, to, stream);
      case UnaryTest::is_inf:
        return test_each<unary_test::is_inf, float>(n, x, to, stream);
      case UnaryTest::is_plus_inf:
        return test_each<unary_test::is_plus_inf, float>(n, x, to, stream);
      case UnaryTest::is_minus_inf:
        return test_each<unary_test::is_minus_inf, float>(n, x, to, stream);
      case UnaryTest::logical_not:
        return test_each<unary_test::logical_not, std::uint8_t>(n, x, to, stream);
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
