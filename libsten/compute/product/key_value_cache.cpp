// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/key_value_cache.h"

#include <algorithm>

#include "kernels/functions.h"
#include "kernels/rows.h"
#include "libsten/core/base/parallel.h"

namespace sten {
namespace {

// Offset of a token's feature in activations of any layout.
Index cache_offset(ActivationLayout layout, Index features, Index tokens, Index token,
                   Index feature) {
  if (layout == ActivationLayout::tokens) return token * features + feature;
  if (layout == ActivationLayout::features) return feature * tokens + token;
  if (layout == ActivationLayout::narrow_panel) return feature * narrow_panel_width + token;
  return (token / panel_width * features + feature) * panel_width + token % panel_width;
}
template <class F>
F& element_of(const ActivationsOf<F>& x, Index token, Index feature) {
  return x.at[cache_offset(x.layout, x.features, x.tokens, token, feature)];
}

// Floats for a query's features padded to whole vectors, and scores.
Index work_of(const KeyValueCache::Extents& e, Index panels) {
  return (ceil_div(e.width, panel_width) + panels) * panel_width;
}

// Replaces n scores by weights.
void weigh(float* scores, Index n, const AttentionExtents& a) {
  if (a.soft_cap == 0) return kernels::rows().softmax(scores, n, a.scale, scores);
  kernels::rows().scale(scores, n, a.scale / a.soft_cap, scores);
  kernels::functions().tanh(scores, n, scores);
  kernels::rows().softmax(scores, n, a.soft_cap, scores);
}

// Number of operations that is worth waking a thread for.
constexpr Index worth_a_thread = 1 << 16;

}  // namespace

KeyValueCache::KeyValueCache(const Extents& e)
    : extents_(e),
      panels_(panels_of(e.tokens)),
      blocks_(ceil_div(e.v_width, panel_width)),
      key_rows_(ceil_div(e.width, 2) * 2),
      keys_(e.dtype, key_row(e.sequences, 0, 0)),
      values_(e.dtype, value_row(e.sequences, 0, 0)),
      work_(static_cast<std::size_t>(e.heads * e.group * (work_of(e, panels_) + panel_width))) {}

Index KeyValueCache::bytes() const {
  return keys_.bytes() + values_.bytes() + static_cast<Index>(sizeof(float) * work_.size());
}

void KeyValueCache::write(std::span<const CachedToken> at, const Activations& k,
                          const Activations& v) {
  const CachedRows::Writer keys = keys_.writer(), values = values_.writer();
  for (Index t = 0; t < k.tokens; ++t) {
    const auto [sequence, position] = at[t];
    const Index panel = position / panel_width, lane = position % panel_width;
    for (Index h = 0; h < extents_.heads; ++h) {
      const Index key = key_row(sequence, h, panel);
      for (Index f = 0; f < extents_.width; ++f)
        keys.set(key + f, lane, element_of(k, t, h * extents_.width + f));
      for (Index f = 0; f < extents_.v_width; ++f)
        values.set(value_row(sequence, h, f / panel_width) + position, f % panel_width,
                   element_of(v, t, h * extents_.v_width + f));
    }
  }
}

// Computes scores of 64 keys at once, then sums 64 features of all values at once.
void KeyValueCache::attend_heads(Index first, Index count, std::span<const CachedToken> at,
                                 const Activations& q, const AttentionExtents& a, float* work,
                                 const ActivationsOut& y) const {
  const Index width = extents_.width, v_width = extents_.v_width, shared = first / extents_.group;
  const Index step = work_of(extents_, panels_);
  float* const queries = work + first * step;
  float* const scores = queries + ceil_div(width, panel_width) * panel_width;
  float* const out = work + extents_.heads * extents_.group * step + first * panel_width;
  for (Index t = 0; t < q.tokens; ++t) {
    const auto [sequence, position] = at[t];
    const Index seen = position + 1;
    const Index begin = a.window > 0 ? std::max<Index>(0, seen - a.window) : 0, n = seen - begin;
    for (Index h = 0; h < count; ++h)
      for (Index f = 0; f < width; ++f)
        queries[h * step + f] = element_of(q, t, (first + h) * width + f);
    for (Index p = begin / panel_width; p < panels_of(seen); ++p) {
      keys_.multiply(queries, step, count, key_row(sequence, shared, p), width, out);
      for (Index h = 0; h < count; ++h)
        std::copy_n(out + h * panel_width, panel_width, scores + h * step + p * panel_width);
    }
    for (Index h = 0; h < count; ++h) weigh(scores + h * step + begin, n, a);
    for (Index b = 0; b < blocks_; ++b) {
      values_.multiply(scores + begin, step, count, value_row(sequence, shared, b) + begin, n, out);
      const Index features = std::min(panel_width, v_width - b * panel_width);
      for (Index h = 0; h < count; ++h)
        for (Index f = 0; f < features; ++f)
          element_of(y, t, (first + h) * v_width + b * panel_width + f) = out[h * panel_width + f];
    }
  }
}

void KeyValueCache::attend(std::span<const CachedToken> at, const Activations& q,
                           const AttentionExtents& a, const ActivationsOut& y) {
  Index seen = 0;
  for (const CachedToken& token : at) seen += token.position + 1;
  const Index work = seen * (extents_.width + extents_.v_width), group = extents_.group;
  Index grain = std::max<Index>(1, worth_a_thread / std::max<Index>(1, work));
  // Heads that share keys run together, unless there are too few of these for all threads.
  if (extents_.heads >= threads()) grain = ceil_div(grain, group) * group;
  float* const space = work_.mutate();
  const auto some = [&](Index begin, Index end) {
    for (Index h = begin; h < end;) {
      const Index next = std::min(end, (h / group + 1) * group);
      attend_heads(h, next - h, at, q, a, space, y);
      h = next;
    }
  };
  parallel_for(extents_.heads * group, grain, std::cref(some));
}

}  // namespace sten
