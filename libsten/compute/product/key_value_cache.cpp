#include "libsten/compute/product/key_value_cache.h"

#include <algorithm>

#include "kernels/functions.h"
#include "kernels/panels.h"
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

// Floats for a query's features padded to whole vectors, its result, and scores.
Index work_of(const KeyValueCache::Extents& e, Index panels) {
  return (ceil_div(e.width, panel_width) + 1 + panels) * panel_width;
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
      keys_(static_cast<std::size_t>(key_panel(e.sequences, 0, 0))),
      values_(static_cast<std::size_t>(value_block(e.sequences, 0, 0))),
      work_(static_cast<std::size_t>(e.heads * e.group * work_of(e, panels_))) {}

Index KeyValueCache::bytes() const {
  return static_cast<Index>(sizeof(float) * (keys_.size() + values_.size() + work_.size()));
}

void KeyValueCache::write(std::span<const CachedToken> at, const Activations& k,
                          const Activations& v) {
  float *keys = keys_.mutate(), *values = values_.mutate();
  for (Index t = 0; t < k.tokens; ++t) {
    const auto [sequence, position] = at[t];
    const Index panel = position / panel_width, lane = position % panel_width;
    for (Index h = 0; h < extents_.heads; ++h) {
      float* key = keys + key_panel(sequence, h, panel) + lane;
      for (Index f = 0; f < extents_.width; ++f)
        key[f * panel_width] = element_of(k, t, h * extents_.width + f);
      for (Index f = 0; f < extents_.v_width; ++f)
        values[value_block(sequence, h, f / panel_width) + position * panel_width +
               f % panel_width] = element_of(v, t, h * extents_.v_width + f);
    }
  }
}

// Computes scores of 64 keys at once, then sums 64 features of all values at once.
void KeyValueCache::attend_head(Index head, std::span<const CachedToken> at, const Activations& q,
                                const AttentionExtents& a, float* work,
                                const ActivationsOut& y) const {
  const kernels::PanelsTable& panels = kernels::panels();
  const Index width = extents_.width, v_width = extents_.v_width, shared = head / extents_.group;
  float* const query = work + head * work_of(extents_, panels_);
  float* const out = query + ceil_div(width, panel_width) * panel_width;
  float* const scores = out + panel_width;
  for (Index t = 0; t < q.tokens; ++t) {
    const auto [sequence, position] = at[t];
    const Index seen = position + 1;
    const Index begin = a.window > 0 ? std::max<Index>(0, seen - a.window) : 0, n = seen - begin;
    for (Index f = 0; f < width; ++f) query[f] = element_of(q, t, head * width + f);
    for (Index p = begin / panel_width; p < panels_of(seen); ++p)
      panels.multiply(query, width, 1, width, keys_.data() + key_panel(sequence, shared, p), false,
                      scores + p * panel_width);
    weigh(scores + begin, n, a);
    for (Index b = 0; b < blocks_; ++b) {
      const float* values = values_.data() + value_block(sequence, shared, b);
      panels.multiply(scores + begin, n, 1, n, values + begin * panel_width, false, out);
      const Index features = std::min(panel_width, v_width - b * panel_width);
      for (Index f = 0; f < features; ++f)
        element_of(y, t, head * v_width + b * panel_width + f) = out[f];
    }
  }
}

void KeyValueCache::attend(std::span<const CachedToken> at, const Activations& q,
                           const AttentionExtents& a, const ActivationsOut& y) {
  Index seen = 0;
  for (const CachedToken& token : at) seen += token.position + 1;
  const Index work = seen * (extents_.width + extents_.v_width);
  const Index grain = std::max<Index>(1, worth_a_thread / std::max<Index>(1, work));
  float* const space = work_.mutate();
  const auto some = [&](Index begin, Index end) {
    for (Index h = begin; h < end; ++h) attend_head(h, at, q, a, space, y);
  };
  parallel_for(extents_.heads * extents_.group, grain, std::cref(some));
}

}  // namespace sten
