// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/bf16_attention_product.h"

#include <doctest/doctest.h>

#include <cmath>

#include "libsten/core/base/parallel.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Interleaved activations and their values.
struct Bf16AttentionSide {
  Index features, tokens;
  Array<float> rows;  // [tokens, features]
  Array<std::uint16_t> in_place;

  Bf16AttentionSide(Index features, Index tokens, std::uint64_t seed)
      : features(features),
        tokens(tokens),
        rows(features * tokens),
        in_place(interleaved_size(features, tokens)) {
    Dice dice(seed);
    for (float& x : std::span(rows.mutate(), rows.size()))
      x = kernels::widen_bf16(kernels::round_to_bf16(static_cast<float>(dice.normal())));
    // Values beyond the last token are NaN.
    std::fill_n(in_place.mutate(), in_place.size(), std::uint16_t{0x7fc0});
    to_interleaved(Activations{ActivationLayout::tokens, features, tokens, rows.data()}, out());
  }
  Interleaved in() const { return {features, tokens, in_place.data()}; }
  InterleavedOut out() { return {features, tokens, in_place.mutate()}; }
  Array<float> read() const {
    Array<float> all(features * tokens);
    from_interleaved(in(), {ActivationLayout::tokens, features, tokens, all.mutate()});
    return all;
  }
};

struct Bf16AttentionCase {
  AttentionExtents a;
  Bf16AttentionSide q, k, v;

  explicit Bf16AttentionCase(const AttentionExtents& extents)
      : a(extents),
        q(a.heads * a.width, a.batch * a.tokens, 1),
        k(a.kv_heads() * a.width, a.batch * a.keys, 2),
        v(a.kv_heads() * a.v_width, a.batch * a.keys, 3) {}

  // The formula, at a token's feature.
  double wanted(Index token, Index feature) const {
    const Index b = token / a.tokens, h = feature / a.v_width;
    double all = 0, sum = 0;
    for (Index j = 0; j < a.keys; ++j) {
      if (a.seen && !a.seen[b * a.keys + j]) continue;
      const Index own = a.keys - a.tokens + token % a.tokens;
      if (a.causal && (j > own || (a.window > 0 && j <= own - a.window))) continue;
      double score = 0;
      for (Index f = 0; f < a.width; ++f)
        score += double{q.rows[token * q.features + h * a.width + f]} *
                 k.rows[(b * a.keys + j) * k.features + h / a.group * a.width + f];
      score *= a.scale;
      if (a.soft_cap > 0) score = a.soft_cap * std::tanh(score / a.soft_cap);
      if (a.bias)
        score += a.bias[b * a.bias_steps[0] + h * a.bias_steps[1] +
                        token % a.tokens * a.bias_steps[2] + j * a.bias_steps[3]];
      const double e = std::exp(score);
      all += e;
      sum +=
          e * v.rows[(b * a.keys + j) * v.features + h / a.group * a.v_width + feature % a.v_width];
    }
    return all > 0 ? sum / all : 0;
  }
  // On one thread and on three. Weights and results have a relative error of 2^-9; values are below
  // 5.
  void check() const {
    Bf16AttentionSide y(a.heads * a.v_width, a.batch * a.tokens, 4), other = y;
    const int before = threads();
    set_threads(1);
    attention_product(a, q.in(), k.in(), v.in(), y.out());
    set_threads(3);
    attention_product(a, q.in(), k.in(), v.in(), other.out());
    set_threads(before);
    const Array<float> got = y.read(), again = other.read();
    for (Index t = 0; t < y.tokens; ++t)
      for (Index f = 0; f < y.features; ++f) {
        REQUIRE(got[t * y.features + f] == again[t * y.features + f]);
        REQUIRE(std::abs(got[t * y.features + f] - wanted(t, f)) < 0.02);
      }
    // Padding features are 0.
    const Interleaved p = y.in();
    for (Index t = 0; t < y.tokens; ++t)
      for (Index f = y.features; f < padded_features(y.features); ++f)
        REQUIRE(p.tile(f - f % 2, t - t % p.lanes())[t % p.lanes() * 2 + f % 2] == 0);
  }
};

}  // namespace

TEST_CASE("interleaved attention matches the formula at any offset of sequences and heads") {
  for (const Index tokens : {1, 37, 64})
    for (const Index keys : {6, 64, 70})
      for (const Index width : {4, 5, 32})
        for (const int hides : {0, 1, 2, 3}) {
          CAPTURE(tokens);
          CAPTURE(keys);
          CAPTURE(width);
          CAPTURE(hides);
          AttentionExtents a{3, tokens, keys, 2, width, width + 1, 0.3f};
          // No key of the second sequence is visible, and only the first keys of the third.
          std::vector<std::uint8_t> seen(3 * keys, 1);
          std::fill_n(seen.begin() + keys, keys, 0);
          std::fill_n(seen.begin() + 2 * keys + 5, keys - 5, 0);
          if (hides % 2 == 1) a.seen = seen.data();
          a.causal = hides >= 2;
          Bf16AttentionCase(a).check();
        }
}

TEST_CASE("a bias broadcast over sequences, heads or queries is added to interleaved scores") {
  const Index tokens = 70, keys = 66;
  for (const Shape& shape : {Shape{3, 2, tokens, keys}, {3, 1, 1, keys}, {tokens, keys}}) {
    CAPTURE(to_string(shape));
    AttentionExtents a{3, tokens, keys, 2, 4, 6, 0.4f};
    a.bias_steps = *bias_steps(shape, {3, 2, tokens, keys});
    Dice dice(7);
    std::vector<float> bias(size_of(shape));
    for (float& x : bias) x = static_cast<float>(dice.normal());
    // In the last row, the last keys are hidden.
    std::fill_n(bias.end() - 9, 9, -1e35f);
    a.bias = bias.data();
    Bf16AttentionCase(a).check();
  }
}

TEST_CASE("interleaved attention with shared KV heads, windows and soft caps matches the formula") {
  for (const Index tokens : {1, 37, 130})
    for (const Index window : {0, 20, 64})
      for (const float cap : {0.0f, 0.5f}) {
        CAPTURE(tokens);
        CAPTURE(window);
        CAPTURE(cap);
        // The first queries see no key of the first panel.
        AttentionExtents a{2, tokens, tokens + 130, 6, 8, 6, 0.7f};
        a.causal = true;
        a.group = 3;
        a.window = window;
        a.soft_cap = cap;
        Bf16AttentionCase(a).check();
      }
}
