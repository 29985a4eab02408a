// SPDX-License-Identifier: Apache-2.0
// Attention one head at a time, in F32 and F64: what the operator and its gradient share.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/functions.h"
#include "libsten/compute/ops/attention/attention_call.h"
#include "libsten/compute/ops/common/gemm.h"
#include "libsten/compute/ops/common/indices.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/norms/softmax_row.h"

namespace sten {

struct AttentionHeads : AttentionCall {
  AttentionExtents rules;   // which keys a query sees
  std::vector<Index> seen;  // 0 for masked keys; empty without a mask

  AttentionHeads(const char* op, const Call& call, std::size_t first)
      : AttentionCall(op, call, first), rules(extents()) {
    if (mask) seen = integers_of(op, "the mask's elements", *mask);
  }
  const Index* seen_in(Index b) const { return seen.empty() ? nullptr : seen.data() + b * keys; }
  // The bias of a head's scores; its rows are steps[2] apart.
  template <class T>
  const T* bias_of(Index b, Index h) const {
    return bias->values.as<T>().data() + b * steps[0] + h * steps[1];
  }
};

// Scratch of a thread, reused for all heads.
template <class T>
struct HeadWorkspace {
  std::vector<T> q, k, v, dy, p, dp, slopes, out;
};

// Rows are short: calls of memmove() would take longer than the copies.
template <class T>
void copy_rows(const T* from, Index from_stride, Index rows, Index n, T* to, Index to_stride) {
  constexpr Index piece = 8;
  for (Index r = 0; r < rows; ++r, from += from_stride, to += to_stride) {
    Index i = 0;
    for (; i + piece <= n; i += piece) std::memcpy(to + i, from + i, piece * sizeof(T));
    for (; i < n; ++i) to[i] = from[i];
  }
}

// Gathers the columns of one of x's `heads` heads, of `rows` rows of a sequence from `first` on:
// [rows, width].
template <class T>
const T* head_of(const Dense& x, Index heads, Index b, Index h, Index first, Index rows,
                 std::vector<T>& out) {
  const Index stride = x.extents[2], width = stride / heads;
  out.resize(rows * width);
  if (out.empty()) return out.data();
  const T* from = x.values.as<T>().data() + (b * x.extents[1] + first) * stride + h * width;
  copy_rows(from, stride, rows, width, out.data(), width);
  return out.data();
}

inline void tanh_row(const float* x, Index n, float* y) { kernels::functions().tanh(x, n, y); }
inline void tanh_row(const double* x, Index n, double* y) {
  for (Index i = 0; i < n; ++i) y[i] = std::tanh(x[i]);
}

// Replaces scores x by c tanh(by x / c), and writes the slopes of tanh to `slopes` unless it is
// nullptr.
template <class T>
void cap_row(T* x, Index n, double by, double c, T* slopes) {
  scale_row(x, n, static_cast<T>(by / c), x);
  tanh_row(x, n, x);
  if (slopes)
    for (Index i = 0; i < n; ++i) slopes[i] = 1 - x[i] * x[i];
  scale_row(x, n, static_cast<T>(c), x);
}

// Replaces a row of scores of n keys by weights, by * x before the softmax. Weights of masked keys
// are 0, and a row without visible keys is all 0.
template <class T>
void weigh_row(T* x, Index n, T by, const Index* seen) {
  if (seen && std::all_of(seen, seen + n, [](Index s) { return s == 0; })) {
    std::fill_n(x, n, T{0});
    return;
  }
  for (Index i = 0; seen && i < n; ++i)
    if (seen[i] == 0) x[i] = -std::numeric_limits<T>::infinity();
  if (n > 0) softmax_row(x, n, by, x);
}
// The same with a bias, which hides the keys where it is -inf.
template <class T>
void weigh_biased_row(T* x, Index n, T by, const T* bias, Index step) {
  if (step == 1)
    for (Index i = 0; i < n; ++i) x[i] = by * x[i] + bias[i];
  else
    for (Index i = 0; i < n; ++i) x[i] = by * x[i] + bias[0];
  if (std::all_of(x, x + n, [](T s) { return s == -std::numeric_limits<T>::infinity(); }))
    std::fill_n(x, n, T{0});
  else
    softmax_row(x, n, T{1}, x);
}

// Queries [first, first + count) of a sequence, and the keys that some of them see.
struct QueryBlock {
  Index first, count, first_key, keys;
};

// Weights of some queries of one head: [count, keys], for their rows of q and of k. With a soft cap,
// writes its slopes to `slopes`, of the same shape, unless it is nullptr.
template <class T>
const T* weights_of(const AttentionHeads& g, Index b, Index h, const QueryBlock& of, const T* q,
                    const T* k, std::vector<T>& p, std::vector<T>* slopes = nullptr) {
  p.resize(of.count * of.keys);
  gemm(Transpose::b, of.count, of.keys, g.width, q, k, p.data(), 1);
  const bool caps = g.soft_cap > 0;
  if (caps && slopes) slopes->resize(p.size());
  const T by = static_cast<T>(caps ? 1 : g.scale);
  for (Index r = 0; r < of.count; ++r) {
    T* row = p.data() + r * of.keys;
    const Index query = of.first + r, first = g.rules.first_key(query);
    const Index begin = first - of.first_key, end = g.rules.keys_before(query) - of.first_key;
    const Index n = end - begin;
    T* x = row + begin;
    if (caps)
      cap_row(x, n, g.scale, g.soft_cap, slopes ? slopes->data() + (x - p.data()) : nullptr);
    if (g.bias) {
      const Index step = g.steps[3];
      weigh_biased_row(x, n, by, g.bias_of<T>(b, h) + query * g.steps[2] + first * step, step);
    } else {
      const Index* seen = g.seen_in(b);
      weigh_row(x, n, by, seen ? seen + first : nullptr);
    }
    std::fill_n(row, begin, T{0});
    std::fill_n(row + end, of.keys - end, T{0});
  }
  return p.data();
}

// Calls f(workspace, b, h, to) for each of `heads` heads of all sequences on threads(). to[i] is
// the start of the head's widths[i] columns in output i; nullptr for unwanted outputs.
template <class T, std::size_t N, class F>
void write_heads(std::array<OutputRows<T>*, N> out, const std::array<Index, N>& widths, Index batch,
                 Index heads, F&& f) {
  using StridedView = std::array<T*, N>;
  const bool in_place =
      std::ranges::all_of(out, [](OutputRows<T>* o) { return !o || o->in_place(); });
  const auto place = [&](std::size_t i, Index b) {
    return out[i]->in_place() + b * out[i]->cols();
  };
  const auto some = [&](HeadWorkspace<T>& work, Index b, Index begin, Index end,
                        const StridedView& rows) {
    for (Index h = begin; h < end; ++h) {
      StridedView to = rows;
      for (std::size_t k = 0; k < N; ++k)
        if (to[k]) to[k] += h * widths[k];
      f(work, b, h, to);
    }
  };
  if (in_place) {
    const Index all = batch * heads, grain = std::max<Index>(1, all / (8 * threads()));
    parallel_for(all, grain, [&](Index begin, Index end) {
      HeadWorkspace<T> work;
      for (Index i = begin; i < end; ++i) {
        StridedView rows{};
        for (std::size_t k = 0; k < N; ++k)
          if (out[k]) rows[k] = place(k, i / heads);
        some(work, i / heads, i % heads, i % heads + 1, rows);
      }
    });
    return;
  }
  parallel_for(batch, 1, [&](Index begin, Index end) {
    std::array<std::vector<T>, N> tiles;
    HeadWorkspace<T> work;
    for (Index b = begin; b < end; ++b) {
      StridedView rows{};
      for (std::size_t k = 0; k < N; ++k) {
        if (!out[k]) continue;
        tiles[k].resize(out[k]->cols());
        rows[k] = out[k]->in_place() ? place(k, b) : tiles[k].data();
      }
      some(work, b, 0, heads, rows);
      for (std::size_t k = 0; k < N; ++k)
        if (out[k] && !out[k]->in_place()) out[k]->write(b, 1, rows[k]);
    }
  });
}

// Implementation of attention.grad.
Outputs attention_gradient(const Call& call);

}  // namespace sten
