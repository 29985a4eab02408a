// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/key_value_cache.h"

#include <doctest/doctest.h>

#include <cmath>

#include "kernels/interleaved.h"
#include "libsten/compute/product/attention_product.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("attention with a KV cache, one or several tokens at a time, matches full attention") {
  Dice dice(1);
  struct Head {
    Index width, v_width;
  };
  for (const Head head : {Head{5, 7}, Head{64, 64}, Head{16, 70}}) {
    constexpr Index tokens = 140, heads = 2;
    CAPTURE(head.width);
    const Index wide = heads * head.width, v_wide = heads * head.v_width;
    const Dense q = normals(dice, {tokens, wide}), k = normals(dice, {tokens, wide}),
                v = normals(dice, {tokens, v_wide});
    const auto rows = [](const Dense& x, Index first, Index n) -> Activations {
      const Index features = x.extents[1];
      return {ActivationLayout::tokens, features, n,
              x.values.as<float>().data() + first * features};
    };
    std::vector<float> wanted(tokens * v_wide), got(wanted.size());
    AttentionExtents a{1, tokens, tokens, heads, head.width, head.v_width, 0.3f};
    a.causal = true;
    attention_product(a, rows(q, 0, tokens), rows(k, 0, tokens), rows(v, 0, tokens),
                      {ActivationLayout::tokens, v_wide, tokens, wanted.data()});
    KeyValueCache cache({heads, head.width, head.v_width, tokens});
    for (Index first = 0; first < tokens;) {
      const Index n = first == 60 ? 30 : 1;
      std::vector<CachedToken> at;
      for (Index t = first; t < first + n; ++t) at.push_back({0, t});
      cache.write(at, rows(k, first, n), rows(v, first, n));
      cache.attend(at, rows(q, first, n), a,
                   {ActivationLayout::tokens, v_wide, n, got.data() + first * v_wide});
      first += n;
    }
    for (std::size_t i = 0; i < got.size(); ++i) REQUIRE(std::abs(got[i] - wanted[i]) < 5e-6);
  }
}

TEST_CASE("a KV cache with shared heads, windows and soft caps matches full attention") {
  Dice dice(1);
  constexpr Index tokens = 140, heads = 6, group = 3, width = 8, v_width = 5;
  const Dense q = normals(dice, {tokens, heads * width}),
              k = normals(dice, {tokens, heads / group * width}),
              v = normals(dice, {tokens, heads / group * v_width});
  const auto rows = [](const Dense& x, Index first, Index n) -> Activations {
    const Index features = x.extents[1];
    return {ActivationLayout::tokens, features, n, x.values.as<float>().data() + first * features};
  };
  for (const Index window : {0, 1, 70})
    for (const float cap : {0.0f, 0.5f}) {
      CAPTURE(window);
      CAPTURE(cap);
      AttentionExtents a{1, tokens, tokens, heads, width, v_width, 0.7f};
      a.causal = true;
      a.group = group;
      a.window = window;
      a.soft_cap = cap;
      std::vector<float> wanted(tokens * heads * v_width), got(wanted.size());
      attention_product(a, rows(q, 0, tokens), rows(k, 0, tokens), rows(v, 0, tokens),
                        {ActivationLayout::tokens, heads * v_width, tokens, wanted.data()});
      KeyValueCache cache({heads / group, width, v_width, tokens, 1, group});
      for (Index first = 0; first < tokens;) {
        const Index n = first == 60 ? 30 : 1;
        std::vector<CachedToken> at;
        for (Index t = first; t < first + n; ++t) at.push_back({0, t});
        cache.write(at, rows(k, first, n), rows(v, first, n));
        cache.attend(
            at, rows(q, first, n), a,
            {ActivationLayout::tokens, heads * v_width, n, got.data() + first * heads * v_width});
        first += n;
      }
      for (std::size_t i = 0; i < got.size(); ++i) REQUIRE(std::abs(got[i] - wanted[i]) < 5e-6);
    }
}

TEST_CASE("a bfloat16 KV cache takes half the memory and is bit-identical to rounded float32") {
  Dice dice(1);
  constexpr Index tokens = 140, group = 3, kv_heads = 2;
  const auto rounded = [](Dense x) {
    for (float& e : x.values.mutate<float>()) e = kernels::widen_bf16(kernels::round_to_bf16(e));
    return x;
  };
  const auto rows = [](const Dense& x, Index first, Index n) -> Activations {
    const Index features = x.extents[1];
    return {ActivationLayout::tokens, features, n, x.values.as<float>().data() + first * features};
  };
  for (const Index width : {5, 64})
    for (const Index window : {0, 1, 70}) {
      CAPTURE(width);
      CAPTURE(window);
      const Index v_width = width + 3;
      const Dense q = normals(dice, {tokens, kv_heads * group * width}),
                  k = normals(dice, {tokens, kv_heads * width}),
                  v = normals(dice, {tokens, kv_heads * v_width});
      AttentionExtents a{1, tokens, tokens, kv_heads * group, width, v_width, 0.7f};
      a.window = window;
      KeyValueCache low({kv_heads, width, v_width, tokens, 1, group, DType::BF16}),
          full({kv_heads, width, v_width, tokens, 1, group});
      // The rest is working memory of attend(): queries and scores.
      const Index run = 4 * kv_heads * group * (4 + 2) * 64;
      CHECK(low.bytes() <= full.bytes() / 2 + run);
      for (Index first = 0; first < tokens;) {
        const Index n = first == 60 ? 30 : 1, features = kv_heads * group * v_width;
        std::vector<CachedToken> at;
        for (Index t = first; t < first + n; ++t) at.push_back({0, t});
        std::vector<float> got(n * features), wanted(got.size());
        const auto attend = [&](KeyValueCache& cache, const Dense& keys, const Dense& values,
                                std::vector<float>& y) {
          cache.write(at, rows(keys, first, n), rows(values, first, n));
          cache.attend(at, rows(q, first, n), a, {ActivationLayout::tokens, features, n, y.data()});
        };
        attend(low, k, v, got);
        attend(full, rounded(k), rounded(v), wanted);
        REQUIRE(got == wanted);
        first += n;
      }
    }
}
