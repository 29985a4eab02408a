// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/attention_product.h"

#include <algorithm>
#include <functional>

#include "kernels/panels.h"
#include "libsten/compute/product/attention_scores.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/scratch.h"

namespace sten {
namespace {

// Calls f(first token of the panel, lane in it, token relative to `first`, number of tokens) for
// runs of [first, first + count) that lie within one panel.
template <class F>
void each_run(Index first, Index count, F&& f) {
  for (Index t = 0; t < count;) {
    const Index lane = (first + t) % panel_width, n = std::min(count - t, panel_width - lane);
    f(first + t - lane, lane, t, n);
    t += n;
  }
}

// Reads some features of some tokens, of any sequences, to a tile [features, lanes]; lanes without
// a token are 0.
void read_part(const Activations& x, Index feature, Index features, Index token, Index tokens,
               float* tile, Index lanes = panel_width) {
  if (tokens < lanes) std::fill_n(tile, features * lanes, 0.0f);
  if (x.layout == ActivationLayout::tokens)
    return transpose_tiles(x.tile(feature, token), x.features, tokens, features, tile, lanes);
  if (x.layout != ActivationLayout::panels) {
    for (Index f = 0; f < features; ++f)
      std::copy_n(x.tile(feature + f, token), tokens, tile + f * lanes);
    return;
  }
  each_run(token, tokens, [&](Index panel, Index lane, Index at, Index n) {
    const float* from = x.tile(feature, panel) + lane;
    for (Index f = 0; f < features; ++f)
      std::copy_n(from + f * panel_width, n, tile + f * lanes + at);
  });
}

void write_part(const float* tile, Index lanes, Index feature, Index features, Index token,
                Index tokens, const ActivationsOut& y) {
  if (y.layout == ActivationLayout::tokens)
    return transpose_tiles(tile, lanes, features, tokens, y.tile(feature, token), y.features);
  if (y.layout != ActivationLayout::panels) {
    for (Index f = 0; f < features; ++f)
      std::copy_n(tile + f * lanes, tokens, y.tile(feature + f, token));
    return;
  }
  each_run(token, tokens, [&](Index panel, Index lane, Index at, Index n) {
    float* to = y.tile(feature, panel) + lane;
    for (Index f = 0; f < features; ++f)
      std::copy_n(tile + f * lanes + at, n, to + f * panel_width);
  });
}

struct Memory {
  Scratch q, k, v, y, scores, bias;
};

// Some panels of queries of one head and sequence.
struct AttentionTask {
  const AttentionExtents& a;
  const Activations &q, &k, &v;
  const ActivationsOut& y;
  Index sequence, head;
  Memory& memory;
  AttentionScores scores{a, sequence, head};

  // Whether every sequence of this many tokens starts at a panel.
  template <class F>
  bool in_place(const ActivationsOf<F>& x, Index of_sequence, Index lanes = panel_width) const {
    return x.is_in_place(lanes) && (a.batch == 1 || of_sequence % lanes == 0);
  }
  // The keys or values of a head in panels, n from rules.first on, and the distance `step` between
  // panels.
  const float* head_of(const Activations& x, const AttentionScores& rules, Index width, Index n,
                       Scratch& scratch, Index& step) const {
    const Index first = sequence * a.keys + rules.first;
    if (in_place(x, a.keys)) {
      step = x.features * panel_width;
      return x.tile(scores.kv_head() * width, first);
    }
    step = width * panel_width;
    float* to = scratch.of(std::max<Index>(1, panels_of(n) * step));
    for (Index t = 0; t < n; t += panel_width)
      read_part(x, scores.kv_head() * width, width, first + t, std::min(panel_width, n - t),
                to + t / panel_width * step);
    return to;
  }

  // Computes panels [begin, end) of the sequence's queries; each panel only with the keys it may
  // see.
  void run(Index begin, Index end) const {
    kernels::Attention part{};
    part.width = a.width;
    part.v_width = a.v_width;
    const AttentionScores rules = scores.from(begin * panel_width);
    const Index keys = rules.keys_of(std::min(a.tokens, end * panel_width)) - rules.first;
    part.scale = a.scale;
    part.seen = rules.seen();
    part.k = head_of(k, rules, a.width, keys, memory.k, part.k_step);
    part.v = head_of(v, rules, a.v_width, keys, memory.v, part.v_step);
    part.scores = memory.scores.of(panel_width * panel_width);
    const Index lanes = kernel_lanes_of(a.tokens);
    for (Index p = begin; p < end; ++p) {
      const Index at = p * panel_width, token = sequence * a.tokens + at;
      const Index tokens = std::min(panel_width, a.tokens - at);
      rules.set_rules(part, at, at + tokens);
      if (in_place(q, a.tokens, lanes)) {
        part.q = q.tile(head * a.width, token);
      } else {
        float* copy = memory.q.of(std::max<Index>(1, a.width * lanes));
        read_part(q, head * a.width, a.width, token, tokens, copy, lanes);
        part.q = copy;
      }
      if (a.bias) rules.set_bias(part, at, tokens, lanes, memory.bias);
      const bool writes_in_place = in_place(y, a.tokens, lanes);
      part.y = writes_in_place ? y.tile(head * a.v_width, token) : memory.y.of(a.v_width * lanes);
      if (part.keys + rules.first > a.first_key(at))
        kernels::panels(lanes).attend(part);
      else
        std::fill_n(part.y, a.v_width * lanes, 0.0f);
      if (!writes_in_place)
        write_part(part.y, lanes, head * a.v_width, a.v_width, token, tokens, y);
    }
  }
};

}  // namespace

std::optional<std::array<Index, 4>> bias_steps(const Shape& bias, const Shape& scores) {
  if (bias.size() > scores.size()) return {};
  std::array<Index, 4> steps{};
  Index step = 1;
  for (std::size_t d = 1; d <= bias.size(); ++d) {
    const std::size_t axis = scores.size() - d;
    const Index extent = bias[bias.size() - d];
    if (extent != 1 && extent != scores[axis]) return {};
    if (extent != 1) steps[axis] = step;
    step *= extent;
  }
  return steps;
}

void attention_product(const AttentionExtents& a, const Activations& q, const Activations& k,
                       const Activations& v, const ActivationsOut& y) {
  const Index panels = panels_of(a.tokens), heads = a.batch * a.heads;
  if (heads * panels * a.v_width == 0) return;
  // Copies keys once for all queries, unless there are too few heads for all threads.
  const Index parts = heads >= 4 * threads() ? 1 : panels;
  const auto some = [&](Index begin, Index end) {
    thread_local Memory memory;
    for (Index i = begin; i < end; ++i) {
      const Index h = i / parts, part = i % parts;
      AttentionTask{a, q, k, v, y, h / a.heads, h % a.heads, memory}.run(
          part * panels / parts, (part + 1) * panels / parts);
    }
  };
  parallel_for(heads * parts, 1, std::cref(some));
}

}  // namespace sten
