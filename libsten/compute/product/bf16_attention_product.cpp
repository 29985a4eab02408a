// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/product/bf16_attention_product.h"

#include <algorithm>
#include <functional>

#include "kernels/bf16_attention.h"
#include "libsten/compute/product/attention_scores.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/scratch.h"

namespace sten {
namespace {

// Calls f(token, number of tokens, pointer to a feature of the first) for runs of tokens that lie
// within one panel.
template <class T, class F>
void each_panel_run(const InterleavedOf<T>& x, Index first, Index count, F&& f) {
  const Index lanes = x.lanes();
  for (Index t = 0; t < count;) {
    const Index panel = (first + t) / lanes, lane = (first + t) % lanes;
    const Index n = std::min(count - t, lanes - lane);
    f(t, n, x.at + panel * x.panel_size() + lane * 2);
    t += n;
  }
}

// Reads some features of some tokens, of any sequences, to [rows, lanes, 2]; the rest becomes 0.
void read_head(const Interleaved& x, Index feature, Index features, Index token, Index tokens,
               Index rows, Index lanes, std::uint16_t* to) {
  std::fill_n(to, rows * lanes * 2, std::uint16_t{0});
  const bool whole = feature % 2 == 0;
  each_panel_run(x, token, tokens, [&](Index t, Index n, const std::uint16_t* from) {
    Index f = 0;
    for (; whole && f + 2 <= features; f += 2)
      std::copy_n(from + (feature + f) / 2 * x.stride(), 2 * n, to + (f / 2 * lanes + t) * 2);
    for (; f < features; ++f) {
      const Index at = feature + f;
      for (Index i = 0; i < n; ++i)
        to[(f / 2 * lanes + t + i) * 2 + f % 2] = from[at / 2 * x.stride() + i * 2 + at % 2];
    }
  });
}
// The inverse of read_head().
void write_head(const std::uint16_t* from, Index lanes, Index feature, Index features, Index token,
                Index tokens, const InterleavedOut& y) {
  const bool whole = feature % 2 == 0;
  each_panel_run(y, token, tokens, [&](Index t, Index n, std::uint16_t* to) {
    Index f = 0;
    for (; whole && f + 2 <= features; f += 2)
      std::copy_n(from + (f / 2 * lanes + t) * 2, 2 * n, to + (feature + f) / 2 * y.stride());
    for (; f < features; ++f) {
      const Index at = feature + f;
      for (Index i = 0; i < n; ++i)
        to[at / 2 * y.stride() + i * 2 + at % 2] = from[(f / 2 * lanes + t + i) * 2 + f % 2];
    }
  });
}

void clear_padding(const InterleavedOut& y) {
  for (Index token = 0; token < y.tokens; token += y.lanes()) {
    std::uint16_t* panel = y.tile(0, token);
    if (y.features % 2)
      for (Index t = 0; t < y.lanes(); ++t) panel[y.features / 2 * y.stride() + 2 * t + 1] = 0;
    const Index first = (y.features + 1) / 2 * y.stride();
    std::fill(panel + first, panel + y.panel_size(), std::uint16_t{0});
  }
}

struct Bf16AttentionMemory {
  Scratch q, k, v, y, staged, work, bias;
};
std::uint16_t* words_of(Scratch& memory, Index words) {
  return reinterpret_cast<std::uint16_t*>(memory.of(std::max<Index>(1, words / 2)));
}

// Matrix tiles have neither windows nor caps.
const kernels::Bf16AttentionTable& table_for(const AttentionExtents& a, Index lanes) {
  const bool is_for_tiles = a.window == 0 && a.soft_cap == 0;
  if (is_for_tiles || !kernels::has_tile_attention()) return kernels::bf16_attention(lanes);
  return *kernels::bf16_attention_for(kernels::Isa::avx512, lanes);
}

// Some panels of queries of one head and sequence.
struct Bf16AttentionTask {
  const AttentionExtents& a;
  const Interleaved &q, &k, &v;
  const InterleavedOut& y;
  Bf16AttentionMemory& memory;
  AttentionScores scores;

  Index head() const { return scores.head; }
  // Whether, for a kernel of this many lanes, every sequence starts at a panel.
  template <class T>
  bool begins_panel(const InterleavedOf<T>& x, Index of_sequence, Index lanes) const {
    return x.lanes() == lanes && (a.batch == 1 || of_sequence % lanes == 0);
  }
  // The keys or values of a head, n from rules.first on, as the kernel's `take` packs them.
  template <class F>
  const float* take_head(const Interleaved& x, const AttentionScores& rules, Index width, Index n,
                         Index size, Scratch& to, F&& take) const {
    float* taken = to.of(std::max<Index>(1, size));
    const Index first = scores.sequence * a.keys + rules.first;
    if (begins_panel(x, a.keys, panel_width) && width % 2 == 0) {
      take(x.tile(scores.kv_head() * width, first), x.panel_size(), width, n, taken);
      return taken;
    }
    const Index rows = (width + 1) / 2, step = rows * 2 * panel_width;
    std::uint16_t* staged = words_of(memory.staged, panels_of(n) * step);
    for (Index t = 0; t < n; t += panel_width)
      read_head(x, scores.kv_head() * width, width, first + t, std::min(panel_width, n - t), rows,
                panel_width, staged + t / panel_width * step);
    take(staged, step, width, n, taken);
    return taken;
  }

  // Computes panels [begin, end) of the sequence's queries; each panel only with the keys it may
  // see.
  void run(Index begin, Index end) const {
    const Index lanes = kernel_lanes_of(a.tokens);
    const kernels::Bf16AttentionTable& kernel = table_for(a, lanes);
    const AttentionScores rules = scores.from(begin * panel_width);
    const Index keys = rules.keys_of(std::min(a.tokens, end * panel_width)) - rules.first;
    kernels::Bf16Attention part{};
    part.width = a.width;
    part.v_width = a.v_width;
    part.keys = keys;
    part.scale = a.scale;
    part.seen = rules.seen();
    part.k = take_head(k, rules, a.width, keys, kernel.keys_size(a.width, keys), memory.k,
                       kernel.take_keys);
    part.v = take_head(v, rules, a.v_width, keys, kernel.values_size(a.v_width, keys), memory.v,
                       kernel.take_values);
    part.memory = memory.work.of(std::max<Index>(1, kernel.memory_size(part)));
    const Index rows = padded_features(a.width) / 2, y_rows = (a.v_width + 1) / 2;
    const bool has_queries = begins_panel(q, a.tokens, lanes) && a.width % tile_features == 0;
    const bool has_outputs = begins_panel(y, a.tokens, lanes) && a.v_width % 2 == 0;
    for (Index p = begin; p < end; ++p) {
      const Index at = p * panel_width, token = scores.sequence * a.tokens + at;
      const Index tokens = std::min(panel_width, a.tokens - at);
      rules.set_rules(part, at, at + tokens);
      if (has_queries) {
        part.q = q.tile(head() * a.width, token);
      } else {
        std::uint16_t* copy = words_of(memory.q, rows * 2 * lanes);
        read_head(q, head() * a.width, a.width, token, tokens, rows, lanes, copy);
        part.q = copy;
      }
      if (a.bias) rules.set_bias(part, at, tokens, lanes, memory.bias);
      part.y =
          has_outputs ? y.tile(head() * a.v_width, token) : words_of(memory.y, y_rows * 2 * lanes);
      if (part.keys + rules.first > a.first_key(at))
        kernel.attend(part);
      else
        std::fill_n(part.y, y_rows * 2 * lanes, std::uint16_t{0});
      if (!has_outputs) write_head(part.y, lanes, head() * a.v_width, a.v_width, token, tokens, y);
    }
  }
};

}  // namespace

void attention_product(const AttentionExtents& a, const Interleaved& q, const Interleaved& k,
                       const Interleaved& v, const InterleavedOut& y) {
  const Index panels = panels_of(a.tokens), heads = a.batch * a.heads;
  if (heads * panels * a.v_width == 0) return;
  if (y.features % tile_features != 0) clear_padding(y);
  // Packs keys once for all queries, unless there are too few heads for all threads.
  const Index parts = std::min(panels, ceil_div(Index{4} * threads(), heads));
  const auto some = [&](Index begin, Index end) {
    thread_local Bf16AttentionMemory memory;
    for (Index i = begin; i < end; ++i) {
      const Index h = i / parts, part = i % parts;
      Bf16AttentionTask{a, q, k, v, y, memory, {a, h / a.heads, h % a.heads}}.run(
          part * panels / parts, (part + 1) * panels / parts);
    }
  };
  parallel_for(heads * parts, 1, std::cref(some));
}

}  // namespace sten
