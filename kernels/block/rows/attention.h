// SPDX-License-Identifier: Apache-2.0
// The steps of attention between its products (Vaswani et al. 2017): scaling, masking and softmax
// of scores, splitting and merging of heads.
#pragma once
#include "kernels/block/each_element.h"
#include "kernels/block/row_functions.h"
#include "kernels/block/rows/fold.h"
#include "kernels/block/several.h"

namespace sten::kernels {

// Transposes x [batch, tokens, heads, width] to [batch, heads, tokens, width], or back.
struct MoveHeads {
  static constexpr int threads = 256;
  const float* x;
  std::int64_t batch, tokens, heads, width;
  bool back;
  float* to;

  std::int64_t blocks() const { return batch * tokens; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t block) const {
    const std::int64_t sequence = block / tokens, token = block - sequence * tokens;
    const auto move = [&](auto* into, const auto* from, std::int64_t pieces) {
      b.for_each_thread([&](int t) {
        each_pair(b, t, heads, pieces, [&](std::int64_t h, std::int64_t i) {
          const std::int64_t one = (block * heads + h) * pieces + i;
          const std::int64_t other = ((sequence * heads + h) * tokens + token) * pieces + i;
          into[back ? one : other] = from[back ? other : one];
        });
      });
    };
    if (width % 4 == 0 && is_aligned(x) && is_aligned(to))
      move(reinterpret_cast<Four*>(to), reinterpret_cast<const Four*>(x), width / 4);
    else
      move(to, x, width);
  }

 private:
  struct alignas(16) Four {
    float at[4];
  };
  STEN_DEVICE static bool is_aligned(const float* p) {
    return reinterpret_cast<std::uintptr_t>(p) % alignof(Four) == 0;
  }
};

struct ScoresRow {
  std::int64_t first = 0, n;  // the first visible key; keys before the causal limit
  const std::int64_t* seen;   // or nullptr
  const float* bias;          // or nullptr
  std::int64_t bias_step;

  STEN_DEVICE ScoresRow(const AttentionScores& a, std::int64_t row) : bias_step(a.steps[3]) {
    const std::int64_t rows = row / a.tokens, token = row - rows * a.tokens;
    const std::int64_t sequence = rows / a.heads, head = rows - sequence * a.heads;
    n = a.keys;
    if (a.causal) {
      n += token + 1 - a.tokens;
      n = n < 0 ? 0 : n < a.keys ? n : a.keys;
      if (a.window > 0 && n > a.window) first = n - a.window;
    }
    seen = a.seen ? a.seen + sequence * a.keys : nullptr;
    bias =
        a.bias ? a.bias + sequence * a.steps[0] + head * a.steps[1] + token * a.steps[2] : nullptr;
  }
  STEN_DEVICE bool sees(std::int64_t i) const {
    return i >= first && i < n && (!seen || seen[i] != 0);
  }
  STEN_DEVICE float score(float scale, float x, std::int64_t i) const {
    return bias ? scale * x + bias[i * bias_step] : scale * x;
  }
};

template <int size>
struct WeighRows {
  static constexpr int threads = size;
  AttentionScores a;
  float *scores, *slopes;  // slopes of the soft cap; nullptr: not stored

  std::int64_t blocks() const { return a.batch * a.heads * a.tokens; }
  std::size_t shared_bytes() const { return fold_bytes<size>; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t number) const {
    const ScoresRow row(a, number);
    float* x = scores + number * a.keys;
    if (a.soft_cap > 0) cap(b, x, slopes ? slopes + number * a.keys : nullptr);
    const float scale = a.soft_cap > 0 ? 1 : a.scale;
    auto own = b.template per_thread<ExpSum>();
    auto seen = b.template per_thread<std::int32_t>();
    const float most = most_of_threads<size>(b, [&](int t) {
      ExpSum e;
      std::int32_t count = 0;
      for (std::int64_t i = t; i < row.n; i += size)
        if (row.sees(i)) {
          const float score = row.score(scale, x[i], i);
          e.add(score);
          count += score != ExpSum::none;
        }
      own(t) = e;
      seen(t) = count;
      return e.most;
    });
    const double sum = sum_of_threads<size>(b, [&](int t) { return own(t).beside(most); });
    auto by = static_cast<float>(1 / sum);
    bool sees_none = false;
    if (most == ExpSum::none) {
      sees_none = sum_of_threads<size>(b, [&](int t) { return std::int32_t{seen(t)}; }) == 0;
      by = std::numeric_limits<float>::quiet_NaN();
    }
    b.for_each_thread([&](int t) {
      for (std::int64_t i = t; i < a.keys; i += size)
        x[i] = row.sees(i) && !sees_none ? by * std::exp(row.score(scale, x[i], i) - most) : 0;
    });
  }

 private:
  template <class Block>
  STEN_DEVICE void cap(Block& b, float* x, float* slope) const {
    const float by = a.scale / a.soft_cap;
    b.for_each_thread([&](int t) {
      for (std::int64_t i = t; i < a.keys; i += size) {
        const float y = std::tanh(by * x[i]);
        x[i] = a.soft_cap * y;
        if (slope) slope[i] = 1 - y * y;
      }
    });
  }
};

template <int size>
struct WeighGradRows {
  static constexpr int threads = size;
  AttentionScores a;
  const float* weights;
  float* dp;

  std::int64_t blocks() const { return a.batch * a.heads * a.tokens; }
  std::size_t shared_bytes() const { return fold_bytes<size>; }
  template <class Block>
  STEN_DEVICE void operator()(Block& b, std::int64_t number) const {
    const ScoresRow row(a, number);
    const float* p = weights + number * a.keys;
    float* d = dp + number * a.keys;
    const auto mean = static_cast<float>(sum_of_row<size>(b, row.n, [&](std::int64_t i) {
      return static_cast<double>(p[i]) * static_cast<double>(d[i]);
    }));
    b.for_each_thread([&](int t) {
      for (std::int64_t i = t; i < a.keys; i += size) d[i] = i < row.n ? p[i] * (d[i] - mean) : 0;
    });
  }
};

// A thread sums ds over the elements that share one element of the bias.
struct SumToBias {
  std::int64_t extents[4], steps[4];  // extents of ds; steps in the bias
  std::int64_t count;                 // elements of the bias
  const float* ds;
  float* to;

  STEN_DEVICE void operator()(std::int64_t e) const {
    std::int64_t begin[4], end[4], rest = e;
    for (int d = 0; d < 4; ++d) {
      begin[d] = 0, end[d] = extents[d];
      if (steps[d] == 0) continue;
      begin[d] = rest / steps[d], end[d] = begin[d] + 1;
      rest -= begin[d] * steps[d];
    }
    double sum = 0;
    for (std::int64_t i = begin[0]; i < end[0]; ++i)
      for (std::int64_t j = begin[1]; j < end[1]; ++j)
        for (std::int64_t k = begin[2]; k < end[2]; ++k) {
          const float* from = ds + ((i * extents[1] + j) * extents[2] + k) * extents[3];
          for (std::int64_t l = begin[3]; l < end[3]; ++l) sum += static_cast<double>(from[l]);
        }
    to[e] = static_cast<float>(sum);
  }
};

template <class Grid>
struct AttentionOn {
  static void move_heads(std::span<const HeadsMove> all, std::int64_t batch, bool back,
                         Stream stream) {
    constexpr int most = 4;  // queries, keys, values, and the gradient of the result
    Grid grid(stream);
    launch_several<most>(grid, all, [&](const HeadsMove& h) {
      return MoveHeads{h.x, batch, h.tokens, h.heads, h.width, back, h.to};
    });
  }
  static void split_heads(std::span<const HeadsMove> all, std::int64_t batch, Stream stream) {
    move_heads(all, batch, false, stream);
  }
  static void merge_heads(std::span<const HeadsMove> all, std::int64_t batch, Stream stream) {
    move_heads(all, batch, true, stream);
  }
  static void attention_weights(const AttentionScores& a, float* scores, float* slopes,
                                Stream stream) {
    Grid grid(stream);
    with_row_threads(a.keys, [&]<int threads>(std::integral_constant<int, threads>) {
      grid.launch(WeighRows<threads>{a, scores, slopes});
    });
  }
  static void attention_grad(const AttentionScores& a, const float* weights, float* dp,
                             Stream stream) {
    Grid grid(stream);
    with_row_threads(a.keys, [&]<int threads>(std::integral_constant<int, threads>) {
      grid.launch(WeighGradRows<threads>{a, weights, dp});
    });
  }
  static void bias_grad(const AttentionScores& a, const float* ds, float* to, Stream stream) {
    SumToBias sum{{a.batch, a.heads, a.tokens, a.keys}, {}, 1, ds, to};
    for (int d = 0; d < 4; ++d) {
      sum.steps[d] = a.steps[d];
      if (a.steps[d] != 0) sum.count *= sum.extents[d];
    }
    launch_threads(Grid(stream), sum.count, sum);
  }
};

}  // namespace sten::kernels
