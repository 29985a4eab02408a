// SPDX-License-Identifier: Apache-2.0
// Softmax, layer norm and embedding kernels over a grid, as on a GPU.
#include "tests/kernels/row_tables.h"

using namespace sten;
using namespace sten::testing;
using kernels::RowFunctions;

TEST_CASE("block kernels compute softmax and its gradient along any axis") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(1);
    for (const kernels::StridedRows& l : {kernels::StridedRows{3, 7, 1},
                                          {1, 1, 1},
                                          {2, 33, 1},
                                          {2, 2000, 1},
                                          {2, 5, 70},
                                          {0, 4, 1},
                                          {3, 0, 1},
                                          {1, 4, 3}})
      for (const bool is_log : {false, true}) {
        CAPTURE(l.length);
        const Index all = l.outer * l.length * l.inner;
        const RowFloats x = some_row_floats(dice, all, 3), dy = some_row_floats(dice, all);
        RowFloats y(all), dx(all);
        f.softmax(x.data(), l, is_log, y.data(), nullptr);
        const RowFloats lines = with_transposed_rows(x, l, false),
                        g = with_transposed_rows(dy, l, false);
        const RowFloats want = softmax_of_rows(lines, l.length, is_log);
        const RowFloats transposed = with_transposed_rows(want, l, true);
        check_rows_near(y, transposed);
        f.softmax_grad(dy.data(), transposed.data(), l, is_log, dx.data(), nullptr);
        const RowFloats grads = softmax_grad_of_rows(g, want, l.length, is_log);
        check_rows_near(dx, with_transposed_rows(grads, l, true));
      }
  });
}

TEST_CASE("block kernels compute softmax of infinities and NaN as the CPU does") {
  constexpr float endless = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const RowFloats& x : {RowFloats{-endless, 1, 2},
                             {1, -endless, 2},
                             {-endless, -endless},
                             {1, endless, 2},
                             {endless, endless},
                             {nan, 1},
                             {1, nan},
                             {nan, -endless},
                             {-1e30f, -1e30f}}) {
    const auto n = static_cast<Index>(x.size());
    RowFloats rows(n), lines(n);
    kernels::row_functions<kernels::SerialGrid>().softmax(x.data(), {1, n, 1}, false, rows.data(),
                                                          nullptr);
    RowFloats twice(2 * n), out(2 * n);
    for (Index i = 0; i < 2 * n; ++i) twice[i] = x[i / 2];
    kernels::row_functions<kernels::SerialGrid>().softmax(twice.data(), {1, n, 2}, false,
                                                          out.data(), nullptr);
    for (Index i = 0; i < n; ++i) lines[i] = out[2 * i + 1];
    const RowFloats want = softmax_of_rows(x, n, false);
    check_rows_near(rows, want);
    check_rows_near(lines, want);
  }
}

TEST_CASE("block kernels compute layer norms and their gradients") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(2);
    using Size = std::pair<Index, Index>;
    for (const Size& size :
         {Size{1, 1}, {3, 7}, {70, 33}, {2, 1500}, {150, 40}, {300, 40}, {0, 5}}) {
      const Index rows = size.first, n = size.second;
      CAPTURE(rows);
      CAPTURE(n);
      RowFloats x = some_row_floats(dice, rows * n);
      for (float& v : x) v += 100;
      const RowFloats dy = some_row_floats(dice, rows * n), gamma = some_row_floats(dice, n),
                      beta = some_row_floats(dice, n);
      RowFloats y(rows * n), dx(rows * n), dgamma(n), dbeta(n);
      f.layer_norm(x.data(), rows, n, gamma.data(), beta.data(), 1e-5, y.data(), nullptr);
      f.layer_norm_grad(dy.data(), x.data(), rows, n, gamma.data(), 1e-5, dx.data(), false,
                        dgamma.data(), dbeta.data(), nullptr);
      RowFloats want(rows * n), want_dx(rows * n);
      std::vector<double> sums(2 * n);
      for (Index r = 0; r < rows; ++r) {
        const float *from = x.data() + r * n, *g = dy.data() + r * n;
        const kernels::RowMoments s = plain_rows().moments(from, n, 1e-5);
        plain_rows().normalize(s, from, n, gamma.data(), beta.data(), want.data() + r * n);
        plain_rows().normalize_grad(s, g, from, n, gamma.data(), want_dx.data() + r * n);
        plain_rows().add_normalized(s, g, from, n, sums.data(), sums.data() + n);
      }
      check_rows_near(y, want);
      check_rows_near(dx, want_dx);
      check_rows_near(dgamma, RowFloats(sums.begin(), sums.begin() + n));
      check_rows_near(dbeta, RowFloats(sums.begin() + n, sums.end()));
      RowFloats alone(n), sum = dy, wanted_sum = dy;
      f.layer_norm_grad(dy.data(), x.data(), rows, n, gamma.data(), 1e-5, nullptr, false, nullptr,
                        alone.data(), nullptr);
      CHECK(alone == dbeta);
      f.layer_norm_grad(dy.data(), x.data(), rows, n, gamma.data(), 1e-5, sum.data(), true, nullptr,
                        nullptr, nullptr);
      for (Index i = 0; i < rows * n; ++i) wanted_sum[i] += dx[i];
      check_rows_near(sum, wanted_sum);
    }
  });
}

TEST_CASE("block kernels gather rows by index and sum their gradients") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(3);
    struct Size {
      Index outer, extent, n, count;
    };
    for (const Size& s : {Size{1, 5, 3, 4},
                          {1, 300, 1, 3000},
                          {1, 40, 1, 20'000},
                          {1, 3, 70, 90},
                          {2, 4, 7, 40},
                          {1, 2, 2100, 11},
                          {3, 1, 1, 1},
                          {1, 6, 2, 0},
                          {1, 6, 0, 3}}) {
      CAPTURE(s.extent);
      CAPTURE(s.n);
      std::vector<std::int64_t> ids(s.count);
      for (auto& id : ids) id = dice.below(2 * s.extent) - s.extent;
      std::vector<std::int64_t> rows = ids;
      for (auto& r : rows) r += r < 0 ? s.extent : 0;
      std::uint32_t bad = 0;
      const kernels::RowIds r{ids.data(), s.count, s.outer, s.extent, s.n, true, &bad};
      const RowFloats table = some_row_floats(dice, s.outer * s.extent * s.n);
      const RowFloats dy = some_row_floats(dice, s.outer * s.count * s.n);
      RowFloats y(dy.size()), want(dy.size()), to(table.size(), 7), sum = table;
      std::vector<double> sums(table.size());
      f.take_rows(table.data(), r, y.data(), nullptr);
      for (Index o = 0; o < s.outer; ++o)
        for (Index i = 0; i < s.count; ++i)
          for (Index c = 0; c < s.n; ++c) {
            const Index at = (o * s.extent + rows[i]) * s.n + c, mine = (o * s.count + i) * s.n + c;
            want[mine] = table[at];
            sums[at] += dy[mine];
          }
      CHECK(y == want);
      f.sum_rows_by_id(dy.data(), r, false, to.data(), nullptr);
      check_rows_near(to, RowFloats(sums.begin(), sums.end()));
      f.sum_rows_by_id(dy.data(), r, true, sum.data(), nullptr);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] -= table[i];
      CHECK(bad == 0);
      for (std::size_t i = 0; i < sum.size(); ++i)
        CHECK(std::abs(sum[i] - to[i]) <= 1e-5 * (1 + std::abs(to[i])));
    }
  });
}

TEST_CASE("row indices out of range are counted, gather NaN and add no gradient") {
  with_row_tables([](const RowFunctions& f) {
    const std::vector<std::int64_t> ids{1, 5, -1, 0, std::int64_t{1} << 40};
    const RowFloats table{1, 2, 3, 4, 5, 6}, dy{1, 1, 2, 2, 4, 4, 8, 8, 16, 16};
    std::uint32_t bad = 0;
    RowFloats y(10), to(6);
    f.take_rows(table.data(), {ids.data(), 5, 1, 3, 2, false, &bad}, y.data(), nullptr);
    CHECK(bad == 3);
    CHECK(y[0] == 3);
    CHECK(y[7] == 2);
    for (const int i : {2, 3, 4, 5, 8, 9}) CHECK(std::isnan(y[i]));
    f.sum_rows_by_id(dy.data(), {ids.data(), 5, 1, 3, 2, true, &bad}, false, to.data(), nullptr);
    CHECK(to == RowFloats{8, 8, 1, 1, 4, 4});
    CHECK(bad == 5);
  });
}
