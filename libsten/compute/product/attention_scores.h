// SPDX-License-Identifier: Apache-2.0
// Hidden keys and bias of the scores of one head of q and sequence.
#pragma once
#include "libsten/compute/product/attention_extents.h"
#include "libsten/compute/product/panels.h"
#include "libsten/compute/product/tiles.h"
#include "libsten/core/base/scratch.h"

namespace sten {

struct AttentionScores {
  const AttentionExtents& a;
  Index sequence, head;
  // Keys before the first one, which no query of the kernel's calls sees: its key 0 is key `first`.
  Index first = 0;

  // The same for the queries from `token` on, which see no key before a window.
  AttentionScores from(Index token) const {
    return {a, sequence, head, a.first_key(token) / panel_width * panel_width};
  }
  const std::uint8_t* seen() const { return a.seen ? a.seen + sequence * a.keys + first : nullptr; }
  // The bias of the first token; tokens are a.bias_steps[2] apart.
  const float* bias() const { return a.bias + sequence * a.bias_steps[0] + head * a.bias_steps[1]; }
  // The number of keys, from the first on, that the queries before `end` may see.
  Index keys_of(Index end) const {
    Index n = a.keys_before(end - 1);
    if (a.seen)
      while (n > first && !seen()[n - first - 1]) --n;
    // All keys of a window may have such a bias.
    if (!a.bias || a.bias_steps[2] != 0 || a.window > 0) return n;
    constexpr float hides = -1e30f;
    Index last = n;
    while (last > 0 && bias()[last - 1] <= hides) --last;
    return last > 0 ? last : n;
  }
  // The head of k and v.
  Index kv_head() const { return head / a.group; }
  // Passes the keys and rules of the queries [token, end) on to the kernel. Part: kernels::Attention
  // or Bf16Attention.
  template <class Part>
  void set_rules(Part& part, Index token, Index end) const {
    part.keys = keys_of(end) - first;
    part.soft_cap = a.soft_cap;
    if (!a.causal) return;
    part.before = a.keys - a.tokens + token + 1 - first;
    if (a.window > 0) part.from = part.before - a.window;
  }
  // Passes the bias of some tokens.
  template <class Part>
  void set_bias(Part& part, Index token, Index tokens, Index lanes, Scratch& memory) const {
    part.bias = bias() + first;
    part.bias_step = 1;
    if (a.bias_steps[2] == 0) return;
    float* transposed = memory.of(std::max<Index>(1, part.keys * lanes));
    const Index skipped = from(token).first - first, n = part.keys - skipped;
    float* const to = transposed + skipped * lanes;
    if (tokens < lanes) std::fill_n(to, n * lanes, 0.0f);
    transpose_tiles(bias() + token * a.bias_steps[2] + first + skipped, a.bias_steps[2], tokens, n,
                    to, lanes);
    part.bias = transposed;
    part.bias_step = lanes;
  }
};

}  // namespace sten
