// SPDX-License-Identifier: Apache-2.0
// MapFunctions over grids, as on a GPU.
#include "kernels/block/maps/maps.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/support/checked_device.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using kernels::MapFunctions;

namespace {

const MapFunctions& map_table(bool checked) {
  static const MapFunctions plain = kernels::map_functions<kernels::SerialGrid>(),
                            careful = kernels::map_functions<CheckedDevice>();
  return checked ? careful : plain;
}

std::vector<float> some_floats(Dice& dice, Index n) {
  std::vector<float> x(n);
  for (float& v : x) v = static_cast<float>(dice.uniform() - 0.3);
  return x;
}

// Calls f with the serial table and with a checked one (random order of threads, race detection).
template <class F>
void with_both(F&& f) {
  for (const bool checked : {false, true}) {
    CAPTURE(checked);
    CheckedDevice::reset(7);
    f(map_table(checked), checked);
    CHECK(CheckedDevice::reports() == std::vector<std::string>{});
  }
}

}  // namespace

TEST_CASE("block kernels add a bias and sum rows") {
  with_both([](const MapFunctions& f, bool checked) {
    Dice dice(1);
    using Size = std::pair<Index, Index>;
    std::vector<Size> sizes{{1, 1}, {3, 7}, {200, 33}, {280, 9}, {0, 5}, {5, 0}, {70, 1}};
    if (!checked) sizes.insert(sizes.end(), {{9001, 65}, {20000, 1}, {1, 5000}});
    for (const Size& size : sizes) {
      const Index rows = size.first, n = size.second;
      CAPTURE(rows);
      CAPTURE(n);
      const std::vector<float> x = some_floats(dice, rows * n), b = some_floats(dice, n);
      std::vector<float> y = x, sums(n, 7);
      f.add_bias(rows, n, b.data(), y.data(), nullptr);
      f.sum_rows(rows, n, x.data(), sums.data(), nullptr);
      bool is_same = true;
      for (Index i = 0; i < rows * n; ++i) is_same &= y[i] == x[i] + b[i % n];
      CHECK(is_same);
      for (Index j = 0; j < n; ++j) {
        double sum = 0;
        for (Index r = 0; r < rows; ++r) sum += x[r * n + j];
        CHECK(sums[j] == doctest::Approx(sum).epsilon(1e-6));
      }
    }
  });
}

TEST_CASE("Divisor computes exact integer quotients") {
  Dice dice(2);
  for (int round = 0; round < 20000; ++round) {
    const Index most = (Index{1} << 31) - 1, bits = 1 + dice.below(31);
    const auto by = std::max<Index>(1, dice.below((Index{1} << bits)));
    const kernels::Divisor divisor(std::min(by, most));
    for (const Index n : {dice.below(most + 1), most, by - 1, std::min(by, most)})
      if (divisor.quotient(static_cast<std::uint32_t>(n)) != n / divisor.by)
        FAIL_CHECK(n << " / " << by);
  }
}

namespace {

// A walk over random axes, along which each operand is strided or broadcast.
struct AnyWalk {
  kernels::MapAxes axes;
  Index sizes[3] = {1, 1, 1};  // of the operands

  AnyWalk(Dice& dice, Index most) {
    axes.count = static_cast<int>(1 + dice.below(kernels::most_map_axes));
    for (int d = 0; d < axes.count; ++d) {
      const Index left = std::max<Index>(1, most / std::max<Index>(1, kernels::size_of(axes)));
      axes.at[d].extent = 1 + dice.below(std::min<Index>(left, 40));
      for (int j = 0; j < 3; ++j) {
        if (dice.below(3) == 0) continue;
        axes.at[d].steps[j] = sizes[j];
        sizes[j] *= axes.at[d].extent;
      }
    }
  }
  // Calls f(i, where) in order.
  template <class F>
  void each(F&& f) const {
    for (Index i = 0; i < kernels::size_of(axes); ++i) {
      Index rest = i, where[3] = {};
      for (int d = 0; d < axes.count; ++d) {
        const Index k = rest % axes.at[d].extent;
        rest /= axes.at[d].extent;
        for (int j = 0; j < 3; ++j) where[j] += k * axes.at[d].steps[j];
      }
      f(i, where);
    }
  }
};

}  // namespace

TEST_CASE("each_part splits a strided walk into parts that visit the same elements") {
  Dice dice(3);
  for (int round = 0; round < 200; ++round) {
    const AnyWalk walk(dice, 300);
    using Seen = std::vector<std::vector<Index>>;
    Seen expected(kernels::size_of(walk.axes)), found(expected.size());
    walk.each([&](Index i, const Index* at) { expected[i] = {at[0], at[1], at[2]}; });
    const auto part = [&](const kernels::MapAxes& axes, const kernels::WalkStart& start) {
      const Index n = kernels::size_of(axes);
      CHECK(n < 7);
      const kernels::Walk here(axes);
      for (Index i = 0; i < n; ++i) {
        Index at[3];
        here.find(static_cast<std::uint32_t>(i), at);
        for (int j = 0; j < 3; ++j) found[start.i + i].push_back(start.at[j] + at[j]);
      }
    };
    kernels::each_part(walk.axes, {}, part, 7);
    CHECK(found == expected);
  }
}

TEST_CASE("block kernels compute unary and broadcast binary functions, dropout and where") {
  with_both([](const MapFunctions& f, bool checked) {
    Dice dice(4);
    for (const Index n : {0, 1, 7, 8, 2049, checked ? 2050 : 70001}) {
      std::vector<float> x = some_floats(dice, n), y(n), dy = some_floats(dice, n);
      f.map(kernels::UnaryFunction::leaky_relu, {0.25f, 0}, n, x.data(), y.data(), nullptr);
      std::vector<float> expected(n), grads(n);
      for (Index i = 0; i < n; ++i) {
        expected[i] = x[i] < 0 ? 0.25f * x[i] : x[i];
        grads[i] = x[i] > 0 ? dy[i] : dy[i] * 0.25f;
      }
      CHECK(y == expected);
      f.map_grad(kernels::UnaryFunction::leaky_relu, {0.25f, 0}, n, dy.data(), x.data(), dy.data(),
                 nullptr);
      CHECK(dy == grads);
      const std::int64_t draw = 5;
      f.drop(std::uint64_t{1} << 51, 3, &draw, 2, n, x.data(), x.data(), nullptr);
      f.drop(std::uint64_t{1} << 52, 3, nullptr, 1, n, y.data(), y.data(), nullptr);
      bool is_same = true;
      for (Index i = 0; i < n; ++i) {
        const float was = expected[i] < 0 ? expected[i] * 4 : expected[i];
        is_same &= x[i] == (random_uniform(random_bits(3, 5), i) >= 0.25 ? 2 * was : 0);
        is_same &= y[i] == (random_uniform(3, i) >= 0.5 ? expected[i] : 0);
      }
      CHECK(is_same);
    }
    for (int round = 0; round < (checked ? 20 : 60); ++round) {
      const AnyWalk walk(dice, checked ? 500 : 9000);
      const Index n = kernels::size_of(walk.axes);
      const std::vector<float> a = some_floats(dice, walk.sizes[0]),
                               b = some_floats(dice, walk.sizes[1]),
                               c = some_floats(dice, walk.sizes[2]), dy = some_floats(dice, n);
      std::vector<std::uint8_t> bits(walk.sizes[0]), less(n);
      for (std::uint8_t& v : bits) v = static_cast<std::uint8_t>(dice.below(2));
      std::vector<float> sub(n), grad(n), chosen(n), kept(n);
      f.binary(kernels::BinaryFunction::sub, walk.axes, a.data(), b.data(), sub.data(), nullptr);
      f.binary_grad(kernels::BinaryFunction::div, 1, walk.axes, dy.data(), a.data(), b.data(),
                    grad.data(), nullptr);
      f.compare(kernels::Comparison::less, kernels::ElementKind::f32, walk.axes, a.data(), b.data(),
                less.data(), nullptr);
      f.choose(4, walk.axes, bits.data(), b.data(), c.data(), chosen.data(), nullptr);
      f.keep_chosen(false, walk.axes, bits.data(), dy.data(), kept.data(), nullptr);
      bool is_same = true;
      walk.each([&](Index i, const Index* at) {
        const float u = a[at[0]], v = b[at[1]];
        is_same &= sub[i] == u - v && less[i] == (u < v);
        is_same &= grad[i] == -dy[i] * (u / v / v);
        is_same &= chosen[i] == (bits[at[0]] ? v : c[at[2]]);
        is_same &= kept[i] == (bits[at[0]] ? 0 : dy[i]);
      });
      CHECK(is_same);
    }
  });
}

TEST_CASE("block kernels sum over any axes") {
  with_both([](const MapFunctions& f, bool checked) {
    Dice dice(5);
    for (int round = 0; round < (checked ? 30 : 100); ++round) {
      kernels::SumAxes axes;
      axes.count = static_cast<int>(dice.below(6));
      const Index large = checked ? 90 : 5000;
      Index n = 1, sums = 1;
      for (int d = 0; d < axes.count; ++d) {
        axes.extents[d] = dice.below(12) ? 1 + dice.below(5) : dice.below(large);
        axes.is_summed[d] = dice.below(2) != 0;
        n *= axes.extents[d];
        if (!axes.is_summed[d]) sums *= axes.extents[d];
      }
      if (n > 200000) continue;
      const std::vector<float> x = some_floats(dice, n);
      std::vector<double> expected(sums);
      for (Index i = 0; i < n; ++i) {
        Index rest = i, at = 0, step = 1;
        for (int d = axes.count; d-- > 0;) {
          const Index k = rest % axes.extents[d];
          rest /= axes.extents[d];
          if (axes.is_summed[d]) continue;
          at += k * step;
          step *= axes.extents[d];
        }
        expected[at] += x[i];
      }
      std::vector<float> found(sums, 7);
      f.sum(axes, x.data(), 2, found.data(), nullptr);
      bool is_near = true;
      for (Index i = 0; i < sums; ++i)
        is_near &= std::abs(found[i] - expected[i] / 2) <= 1e-6 * (1 + std::abs(expected[i]));
      CHECK(is_near);
    }
  });
}

TEST_CASE("block kernels make strided copies of elements of any width") {
  with_both([](const MapFunctions& f, bool checked) {
    Dice dice(6);
    for (int round = 0; round < (checked ? 60 : 300); ++round) {
      // Each tensor has its own order of axes; every element of the second one is written.
      const int rank = static_cast<int>(1 + dice.below(4));
      kernels::MapAxes axes;
      axes.count = rank;
      std::vector<int> order(rank);
      for (int d = 0; d < rank; ++d) {
        order[d] = d;
        axes.at[d].extent = dice.one_of<Index>({1, 2, 3, 8, 16, 33, checked ? 9 : 70});
      }
      if (kernels::size_of(axes) > (checked ? 5000 : 100000)) continue;
      for (int j = 0; j < 2; ++j) {
        if (dice.below(2))
          for (int d = rank; d-- > 1;) std::swap(order[d], order[dice.below(d + 1)]);
        Index step = 1;
        for (const int d : order) {
          axes.at[d].steps[j] = j == 0 && dice.below(8) == 0 ? 0 : step;
          step *= axes.at[d].extent;
        }
      }
      const Index n = kernels::size_of(axes), first = dice.below(2);
      const int width = dice.one_of<int>({1, 2, 4, 8});
      with_width(width, [&]<class U>(U) {
        std::vector<U> x(n + first), y(n), expected(n);
        for (U& v : x) v = static_cast<U>(dice.bits());
        for (Index i = 0; i < n; ++i) {
          Index rest = i, from = 0, to = 0;
          for (int d = 0; d < rank; ++d) {
            from += rest % axes.at[d].extent * axes.at[d].steps[0];
            to += rest % axes.at[d].extent * axes.at[d].steps[1];
            rest /= axes.at[d].extent;
          }
          expected[to] = x[first + from];
        }
        f.move(width, axes, x.data() + first, y.data(), nullptr);
        CHECK(y == expected);
      });
    }
  });
}

TEST_CASE("block kernels test for infinity and NaN and cast between float, integer and bool") {
  with_both([](const MapFunctions& f, bool) {
    using K = kernels::ElementKind;
    const float inf = std::numeric_limits<float>::infinity();
    using Limits = std::numeric_limits<std::int64_t>;
    const std::vector<float> x{-2.7f, 2.7f, 0, -0.0f, inf, -inf, NAN, 1e30f, 16777216};
    const auto n = std::ssize(x);
    std::vector<std::uint8_t> is(n);
    f.test_one(kernels::UnaryTest::is_inf, n, x.data(), is.data(), nullptr);
    CHECK(is == std::vector<std::uint8_t>{0, 0, 0, 0, 1, 1, 0, 0, 0});
    f.test_one(kernels::UnaryTest::is_nan, n, x.data(), is.data(), nullptr);
    CHECK(is == std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 1, 0, 0});
    std::vector<std::int64_t> whole(n);
    f.cast(K::f32, K::i64, n, x.data(), whole.data(), nullptr);
    CHECK(whole == std::vector<std::int64_t>{-2, 2, 0, 0, Limits::max(), Limits::min(), 0,
                                             Limits::max(), 16777216});
    std::vector<std::uint8_t> truths(n);
    f.cast(K::f32, K::truth, n, x.data(), truths.data(), nullptr);
    CHECK(truths == std::vector<std::uint8_t>{1, 1, 0, 0, 1, 1, 1, 1, 1});
    std::vector<float> back(n);
    truths[0] = 255;
    f.cast(K::truth, K::f32, n, truths.data(), back.data(), nullptr);
    CHECK(back == std::vector<float>{1, 1, 0, 0, 1, 1, 1, 1, 1});
    f.cast(K::i64, K::f32, n, whole.data(), back.data(), nullptr);
    CHECK(back[1] == 2);
    CHECK(back[4] == 0x1p63f);
  });
}
