// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/attention_product.h"

#include <doctest/doctest.h>

#include <cmath>

#include "libsten/core/base/parallel.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// Activations in a layout, and the same values row by row ([tokens, features]).
struct Side {
  ActivationLayout layout;
  Index features, tokens;
  Array<float> rows, in_place;

  Side(ActivationLayout f, Index features, Index tokens, std::uint64_t seed)
      : layout(f), features(features), tokens(tokens), rows(features * tokens) {
    Dice dice(seed);
    for (float& x : std::span(rows.mutate(), rows.size())) x = static_cast<float>(dice.normal());
    in_place =
        Array<float>(layout == ActivationLayout::panels         ? panels_size(features, tokens)
                     : layout == ActivationLayout::narrow_panel ? features * narrow_panel_width
                                                                : rows.size());
    for (Index t = 0; t < tokens; ++t)
      for (Index f = 0; f < features; ++f) in_place.mutate()[place(t, f)] = rows[t * features + f];
  }
  Index place(Index t, Index f) const {
    if (layout == ActivationLayout::tokens) return t * features + f;
    if (layout == ActivationLayout::features) return f * tokens + t;
    if (layout == ActivationLayout::narrow_panel) return f * narrow_panel_width + t;
    return (t / panel_width * features + f) * panel_width + t % panel_width;
  }
  Activations in() const { return {layout, features, tokens, in_place.data()}; }
  ActivationsOut out() { return {layout, features, tokens, in_place.mutate()}; }
};

// The formula, at a token's feature.
double wanted(const AttentionExtents& a, const Side& q, const Side& k, const Side& v, Index token,
              Index feature) {
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

}  // namespace

TEST_CASE("attention matches the formula in any activation layout on any number of threads") {
  for (const ActivationLayout layout :
       {ActivationLayout::panels, ActivationLayout::tokens, ActivationLayout::features})
    for (const Index tokens : {1, 37, 64, 100})
      for (const Index keys : {64, 70})
        for (const int hides : {0, 1, 2, 3}) {
          const bool masked = hides % 2 == 1;
          CAPTURE(tokens);
          CAPTURE(keys);
          CAPTURE(hides);
          AttentionExtents a{3, tokens, keys, 2, 4, 6, 0.4f};
          // No key of the second sequence is visible, and only the first keys of the third.
          std::vector<std::uint8_t> seen(3 * keys, 1);
          std::fill_n(seen.begin() + keys, keys, 0);
          std::fill_n(seen.begin() + 2 * keys + 5, keys - 5, 0);
          if (masked) a.seen = seen.data();
          a.causal = hides >= 2;
          const Side q(layout, 8, 3 * tokens, 1), k(layout, 8, 3 * keys, 2),
              v(layout, 12, 3 * keys, 3);
          Side y(layout, 12, 3 * tokens, 4), other = y;
          const int before = threads();
          set_threads(1);
          attention_product(a, q.in(), k.in(), v.in(), y.out());
          set_threads(3);
          attention_product(a, q.in(), k.in(), v.in(), other.out());
          set_threads(before);
          for (Index t = 0; t < 3 * tokens; ++t)
            for (Index f = 0; f < 12; ++f) {
              const float got = y.in_place[y.place(t, f)];
              REQUIRE(got == other.in_place[other.place(t, f)]);
              REQUIRE(std::abs(got - wanted(a, q, k, v, t, f)) < 2e-6);
            }
        }
}

TEST_CASE("a bias broadcast over sequences, heads or queries is added to the scores") {
  const Index tokens = 70, keys = 66;
  const Side q(ActivationLayout::panels, 8, 3 * tokens, 1),
      k(ActivationLayout::tokens, 8, 3 * keys, 2), v(ActivationLayout::tokens, 12, 3 * keys, 3);
  const std::vector<Shape> shapes{{3, 2, tokens, keys}, {1, 2, tokens, keys}, {3, 1, 1, keys},
                                  {tokens, keys},       {2, 1, keys},         {3, 1, tokens, keys}};
  for (const Shape& shape : shapes) {
    CAPTURE(to_string(shape));
    AttentionExtents a{3, tokens, keys, 2, 4, 6, 0.4f};
    a.bias_steps = *bias_steps(shape, {3, 2, tokens, keys});
    Dice dice(7);
    std::vector<float> bias(size_of(shape));
    for (float& x : bias) x = static_cast<float>(dice.normal());
    // In the last row, the last keys are hidden.
    std::fill_n(bias.end() - 9, 9, -1e35f);
    a.bias = bias.data();
    Side y(ActivationLayout::panels, 12, 3 * tokens, 4);
    attention_product(a, q.in(), k.in(), v.in(), y.out());
    for (Index t = 0; t < 3 * tokens; ++t)
      for (Index f = 0; f < 12; ++f)
        REQUIRE(std::abs(y.in_place[y.place(t, f)] - wanted(a, q, k, v, t, f)) < 2e-6);
  }
  CHECK(!bias_steps({2, keys}, {3, 2, tokens, keys}));
  CHECK(!bias_steps({1, 3, 2, tokens, keys}, {3, 2, tokens, keys}));
}

TEST_CASE("a bias of the lowest float on all keys of a sequence weights them equally") {
  AttentionExtents a{2, 40, 70, 1, 4, 4, 0.4f};
  std::vector<float> bias(2 * 70);
  std::fill_n(bias.begin() + 70, 70, std::numeric_limits<float>::lowest());
  a.bias = bias.data();
  a.bias_steps = *bias_steps({2, 1, 1, 70}, {2, 1, 40, 70});
  const Side q(ActivationLayout::tokens, 4, 80, 1), k(ActivationLayout::tokens, 4, 140, 2),
      v(ActivationLayout::tokens, 4, 140, 3);
  Side y(ActivationLayout::tokens, 4, 80, 4);
  attention_product(a, q.in(), k.in(), v.in(), y.out());
  double mean = 0;
  for (Index key = 70; key < 140; ++key) mean += v.rows[key * 4 + 2] / 70.0;
  for (Index t = 40; t < 80; ++t) REQUIRE(std::abs(y.in_place[t * 4 + 2] - mean) < 2e-6);
}

TEST_CASE("flops of causal attention count only the visible pairs of queries and keys") {
  AttentionExtents a{1, 4, 4, 3, 2, 5, 1};
  CHECK(a.flops() == 2 * 3 * (4 * 4) * (2 + 5));
  a.causal = true;
  CHECK(a.flops() == 2 * 3 * (1 + 2 + 3 + 4) * (2 + 5));
  a.tokens = 1;  // the last one
  CHECK(a.flops() == 2 * 3 * 4 * (2 + 5));
}

TEST_CASE("small-batch attention in a narrow panel matches the formula for keys in any layout") {
  for (const ActivationLayout of_keys :
       {ActivationLayout::narrow_panel, ActivationLayout::tokens, ActivationLayout::panels})
    for (const Index batch : {1, 2})
      for (const Index tokens : {1, 5, 8})
        for (const Index keys : {3, 8}) {
          CAPTURE(batch);
          CAPTURE(tokens);
          CAPTURE(keys);
          AttentionExtents a{batch, tokens, keys, 2, 4, 6, 0.4f};
          a.causal = keys == 8;
          std::vector<float> bias(batch * tokens * keys);
          Dice dice(5);
          for (float& x : bias) x = static_cast<float>(dice.normal());
          if (batch == 2) a.bias = bias.data();
          a.bias_steps = *bias_steps({batch, 1, tokens, keys}, {batch, 2, tokens, keys});
          const Side q(ActivationLayout::narrow_panel, 8, batch * tokens, 1),
              k(of_keys, 8, batch * keys, 2), v(of_keys, 12, batch * keys, 3);
          Side y(ActivationLayout::narrow_panel, 12, batch * tokens, 4);
          attention_product(a, q.in(), k.in(), v.in(), y.out());
          for (Index t = 0; t < batch * tokens; ++t)
            for (Index f = 0; f < 12; ++f)
              REQUIRE(std::abs(y.in_place[y.place(t, f)] - wanted(a, q, k, v, t, f)) < 2e-6);
        }
}

TEST_CASE("attention with shared KV heads, windows and soft caps matches the formula") {
  for (const ActivationLayout layout : {ActivationLayout::panels, ActivationLayout::tokens})
    for (const Index tokens : {1, 37, 200})
      for (const Index window : {0, 1, 20, 70, 64, 500})
        for (const float cap : {0.0f, 0.5f}) {
          CAPTURE(tokens);
          CAPTURE(window);
          CAPTURE(cap);
          // The first queries see no key of the first panel.
          const Index keys = tokens + 130;
          AttentionExtents a{2, tokens, keys, 6, 4, 5, 0.7f};
          a.causal = true;
          a.group = 3;
          a.window = window;
          a.soft_cap = cap;
          // In the second sequence, only the last keys are visible.
          std::vector<std::uint8_t> seen(2 * keys, 1);
          std::fill_n(seen.begin() + keys, 120, 0);
          if (cap > 0) a.seen = seen.data();
          const Side q(layout, 24, 2 * tokens, 1), k(layout, 8, 2 * keys, 2),
              v(layout, 10, 2 * keys, 3);
          Side y(layout, 30, 2 * tokens, 4), other = y;
          attention_product(a, q.in(), k.in(), v.in(), y.out());
          // With many threads, panels of a head run apart.
          const int before = threads();
          set_threads(4);
          attention_product(a, q.in(), k.in(), v.in(), other.out());
          set_threads(before);
          CHECK(std::ranges::equal(y.in_place, other.in_place));
          for (Index t = 0; t < 2 * tokens; ++t)
            for (Index f = 0; f < 30; ++f)
              REQUIRE(std::abs(y.in_place[y.place(t, f)] - wanted(a, q, k, v, t, f)) < 2e-6);
        }
}

TEST_CASE("a bias that hides all keys of a window weights them equally") {
  AttentionExtents a{1, 70, 70, 1, 4, 4, 0.4f};
  a.causal = true;
  a.window = 2;
  std::vector<float> bias(70, -1e35f);
  bias[0] = 0;
  a.bias = bias.data();
  a.bias_steps = *bias_steps({70}, {1, 1, 70, 70});
  const Side q(ActivationLayout::tokens, 4, 70, 1), k(ActivationLayout::tokens, 4, 70, 2),
      v(ActivationLayout::tokens, 4, 70, 3);
  Side y(ActivationLayout::tokens, 4, 70, 4);
  attention_product(a, q.in(), k.in(), v.in(), y.out());
  for (const Index t : {5, 69})
    CHECK(y.in_place[t * 4] ==
          doctest::Approx((v.rows[t * 4] + v.rows[t * 4 - 4]) / 2).epsilon(1e-5));
}

TEST_CASE("flops of windowed attention count only the pairs in the window") {
  AttentionExtents a{1, 4, 4, 3, 2, 5, 1};
  a.causal = true;
  a.window = 2;
  CHECK(a.flops() == 2 * 3 * (1 + 2 + 2 + 2) * (2 + 5));
}
