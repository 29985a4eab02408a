// SPDX-License-Identifier: Apache-2.0
// Kernels of decoders over a grid, as on a GPU: RMS norms and rotary positions.
#include "tests/kernels/row_tables.h"

using namespace sten;
using namespace sten::testing;
using kernels::RowFunctions;

TEST_CASE("block kernels compute RMS norms and their gradients") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(2);
    using Size = std::pair<Index, Index>;
    for (const Size& size : {Size{1, 4}, {3, 7}, {2, 1500}, {300, 40}, {0, 5}}) {
      const Index rows = size.first, n = size.second;
      CAPTURE(rows);
      CAPTURE(n);
      const RowFloats x = some_row_floats(dice, rows * n, 3), dy = some_row_floats(dice, rows * n),
                      weight = some_row_floats(dice, n);
      for (const bool has_offset : {false, true}) {
        const kernels::RmsNorm norm{rows, n, weight.data(), has_offset, 1e-5};
        RowFloats y(rows * n), dx(rows * n), dweight(n), want(rows * n), want_dx(rows * n);
        f.rms_norm(x.data(), norm, y.data(), nullptr);
        f.rms_norm_grad(dy.data(), x.data(), norm, dx.data(), false, dweight.data(), nullptr);
        std::vector<double> sums(n);
        const auto factor = [&](Index i) { return double{weight[i]} + has_offset; };
        for (Index r = 0; r < rows; ++r) {
          const float *from = x.data() + r * n, *g = dy.data() + r * n;
          double squares = 0, along = 0;
          for (Index i = 0; i < n; ++i) squares += double{from[i]} * from[i];
          const double by = 1 / std::sqrt(squares / static_cast<double>(n) + 1e-5);
          for (Index i = 0; i < n; ++i) along += g[i] * factor(i) * from[i] * by;
          along /= static_cast<double>(n);
          for (Index i = 0; i < n; ++i) {
            want[r * n + i] = static_cast<float>(from[i] * by * factor(i));
            want_dx[r * n + i] = static_cast<float>(by * (g[i] * factor(i) - from[i] * by * along));
            sums[i] += by * (double{g[i]} * from[i]);
          }
        }
        check_rows_near(y, want);
        check_rows_near(dx, want_dx);
        check_rows_near(dweight, RowFloats(sums.begin(), sums.end()));
        RowFloats alone(n), sum = dy, wanted_sum = dy;
        f.rms_norm_grad(dy.data(), x.data(), norm, nullptr, false, alone.data(), nullptr);
        CHECK(alone == dweight);
        f.rms_norm_grad(dy.data(), x.data(), norm, sum.data(), true, nullptr, nullptr);
        for (Index i = 0; i < rows * n; ++i) wanted_sum[i] += dx[i];
        check_rows_near(sum, wanted_sum);
      }
    }
  });
}

TEST_CASE("block kernels apply rotary embeddings and rotate them back") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(3);
    const Index sequences = 2, tokens = 5, heads = 3, width = 8, pairs = 3,
                features = heads * width;
    const RowFloats x = some_row_floats(dice, sequences * tokens * features),
                    frequencies{1, 0.25f, 0.01f};
    const std::vector<std::int64_t> positions{0, 3, 1, 700, 2};
    for (const bool is_interleaved : {false, true}) {
      const kernels::RotaryRows rows{
          sequences * tokens, heads, width, pairs, is_interleaved, 2, positions.data(), tokens,
          frequencies.data()};
      RowFloats y(x.size()), back(x.size()), want = x, twice = x;
      f.rotate(x.data(), rows, false, y.data(), nullptr);
      f.rotate(y.data(), rows, true, back.data(), nullptr);
      for (Index row = 0; row < sequences * tokens * heads; ++row)
        for (Index i = 0; i < pairs; ++i) {
          const float angle = static_cast<float>(positions[row / heads % tokens]) * frequencies[i];
          const double cos = 2 * std::cos(double{angle}), sin = 2 * std::sin(double{angle});
          const Index p = row * width + (is_interleaved ? 2 * i : i),
                      q = is_interleaved ? p + 1 : p + pairs;
          want[p] = static_cast<float>(x[p] * cos - x[q] * sin);
          want[q] = static_cast<float>(x[q] * cos + x[p] * sin);
          twice[p] = 4 * x[p], twice[q] = 4 * x[q];
        }
      check_rows_near(y, want);
      check_rows_near(back, twice);  // both rotations multiply by the scale
    }
  });
}
