// SPDX-License-Identifier: Apache-2.0
// Attention kernels over a grid, as on a GPU.
#include <algorithm>
#include <span>

#include "tests/kernels/row_tables.h"

using namespace sten;
using namespace sten::testing;
using kernels::RowFunctions;

TEST_CASE("block kernels compute attention weights and the gradients of scores") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(6);
    struct Case {
      Index batch, heads, tokens, keys;
      bool causal, masked;
      float soft_cap = 0;
      Index window = 0;
    };
    for (const Case& k : {Case{2, 3, 4, 5, false, false},
                          {2, 1, 5, 4, true, true},
                          {1, 2, 3, 40, true, false},
                          {3, 2, 2, 6, false, true},
                          {1, 1, 2, 1100, true, true},
                          {2, 2, 7, 9, true, true, 1.5f, 3},
                          {1, 2, 5, 4, false, false, 2},
                          {1, 1, 3, 1100, true, false, 0, 40}}) {
      CAPTURE(k.keys);
      const Index rows = k.batch * k.heads * k.tokens, n = k.keys;
      std::vector<std::int64_t> seen(k.batch * n);
      for (Index i = 0; i < k.batch * n; ++i) seen[i] = i < n ? i % 3 != 0 : i >= 2 * n;
      kernels::AttentionScores a{k.batch, k.heads, k.tokens, n,          0.5f,    k.causal,
                                 nullptr, nullptr, {},       k.soft_cap, k.window};
      if (k.masked) a.seen = seen.data();
      const RowFloats x = some_row_floats(dice, rows * n, 3), d = some_row_floats(dice, rows * n);
      const auto capped = [&](Index i) {
        const double s = 0.5 * x[i], c = k.soft_cap;
        return c > 0 ? c * std::tanh(s / c) : s;
      };
      RowFloats p = x, ds = d, slopes(rows * n), want(rows * n), want_ds(rows * n);
      f.attention_weights(a, p.data(), slopes.data(), nullptr);
      f.attention_grad(a, p.data(), ds.data(), nullptr);
      for (Index r = 0; r < rows; ++r) {
        const Index last = k.causal ? std::clamp<Index>(n - k.tokens + r % k.tokens + 1, 0, n) : n;
        const Index first = k.window > 0 ? std::max<Index>(0, last - k.window) : 0;
        const auto sees = [&](Index i) {
          return first <= i && i < last &&
                 (!k.masked || seen[r / (k.heads * k.tokens) * n + i] != 0);
        };
        double most = -1e300, sum = 0, mean = 0;
        for (Index i = 0; i < n; ++i)
          if (sees(i)) most = std::max(most, capped(r * n + i));
        for (Index i = 0; i < n; ++i)
          if (sees(i)) sum += std::exp(capped(r * n + i) - most);
        for (Index i = 0; i < n; ++i) {
          if (sees(i))
            want[r * n + i] = static_cast<float>(std::exp(capped(r * n + i) - most) / sum);
          mean += double{want[r * n + i]} * d[r * n + i];
        }
        for (Index i = 0; i < n; ++i)
          want_ds[r * n + i] = static_cast<float>(want[r * n + i] * (d[r * n + i] - mean));
      }
      check_rows_near(p, want);
      check_rows_near(ds, want_ds);
      RowFloats want_slopes(rows * n);
      for (Index i = 0; k.soft_cap > 0 && i < rows * n; ++i) {
        const double t = capped(i) / double{k.soft_cap};
        want_slopes[i] = static_cast<float>(1 - t * t);
      }
      check_rows_near(slopes, want_slopes);
    }
  });
}

TEST_CASE("block kernels add a broadcast bias to attention scores and sum its gradient") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(7);
    const Index batch = 2, heads = 3, tokens = 4, keys = 5, all = batch * heads * tokens * keys;
    const RowFloats x = some_row_floats(dice, all), bias = some_row_floats(dice, heads * keys);
    // The bias is [heads, 1, keys].
    kernels::AttentionScores a{batch, heads,   tokens,      keys,           2,
                               false, nullptr, bias.data(), {0, keys, 0, 1}};
    RowFloats p = x, sum = x, sums(heads * keys), want(heads * keys);
    f.attention_weights(a, p.data(), nullptr, nullptr);
    for (Index i = 0; i < all; ++i) {
      const Index at = i / (tokens * keys) % heads * keys + i % keys;
      sum[i] = 2 * x[i] + bias[at];
      want[at] += x[i];
    }
    check_rows_near(p, softmax_of_rows(sum, keys, false));
    f.bias_grad(a, x.data(), sums.data(), nullptr);
    check_rows_near(sums, want);
  });
}

TEST_CASE("block kernels split and merge attention heads, aligned or not") {
  with_row_tables([](const RowFunctions& f) {
    Dice dice(7);
    const Index batch = 2, heads = 3, tokens = 4;
    for (const Index width : {5, 8}) {
      const Index all = batch * heads * tokens * width;
      const RowFloats x = some_row_floats(dice, all);
      RowFloats apart(all), back(all);
      const kernels::HeadsMove split{x.data(), tokens, heads, width, apart.data()};
      f.split_heads({&split, 1}, batch, nullptr);
      bool is_moved = true;
      for (Index i = 0; i < all; ++i) {
        const Index b = i / (tokens * heads * width), t = i / (heads * width) % tokens,
                    h = i / width % heads;
        is_moved &= apart[((b * heads + h) * tokens + t) * width + i % width] == x[i];
      }
      CHECK(is_moved);
      const kernels::HeadsMove join{apart.data(), tokens, heads, width, back.data()};
      f.merge_heads({&join, 1}, batch, nullptr);
      CHECK(back == x);
      // Several tensors of different shapes, more than fit in one launch.
      std::vector<RowFloats> to(6, RowFloats(all)), again = to;
      std::vector<kernels::HeadsMove> split_moves, home;
      for (std::size_t k = 0; k < to.size(); ++k) {
        const auto [t, w] = k % 2 ? std::pair(tokens, width) : std::pair(tokens / 2, 2 * width);
        split_moves.push_back({x.data(), t, heads, w, to[k].data()});
        home.push_back({to[k].data(), t, heads, w, again[k].data()});
      }
      f.split_heads(split_moves, batch, nullptr);
      f.merge_heads(home, batch, nullptr);
      CHECK(to[1] == apart);
      CHECK(to[0] != apart);
      for (std::size_t k = 0; k < to.size(); ++k) {
        CHECK(to[k] == to[k % 2]);
        CHECK(again[k] == x);
      }
      // Unaligned, so without vector loads of 16 bytes.
      RowFloats moved(all + 1), shifted(all + 1);
      std::ranges::copy(x, shifted.begin() + 1);
      const kernels::HeadsMove away{shifted.data() + 1, tokens, heads, width, moved.data() + 1};
      f.split_heads({&away, 1}, batch, nullptr);
      CHECK(std::ranges::equal(std::span(moved).subspan(1), apart));
    }
  });
}
