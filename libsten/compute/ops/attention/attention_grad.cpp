// SPDX-License-Identifier: Apache-2.0
// The gradient of attention. With weights P: dV = P^T dY, dP = dY V^T, dS = P * (dP - sum(P * dP))
// by rows, which is the gradient of a bias; then, after the slopes of a soft cap, dQ = scale dS K
// and dK = scale dS^T Q. Heads of q that share a head of k and v add to its gradients in order.
#include "libsten/compute/ops/attention/attention_heads.h"
#include "libsten/compute/ops/common/broadcast.h"

namespace sten {
namespace {

// C[m, n] = A[m, k] * B[k, n] in a head's columns of an output with that row stride; with `more`, C
// += A * B. Threads share the heads, so each product runs on one thread.
template <class T>
void multiply_to(Transpose transposed, Index m, Index n, Index k, const T* a, const T* b, bool more,
                 std::vector<T>& head, T* to, Index stride) {
  head.resize(m * n);
  gemm(transposed, m, n, k, a, b, head.data(), 1);
  if (!more) return copy_rows(head.data(), n, m, n, to, stride);
  for (Index r = 0; r < m; ++r)
    for (Index i = 0; i < n; ++i) to[r * stride + i] += head[r * n + i];
}

// Replaces dP by dS of the scores before scale and soft cap, times the scale. dS of the bias is
// written to ds, unless it is nullptr.
template <class T>
void score_gradient(const AttentionHeads& g, const T* p, const T* slopes, T* dp, T* ds) {
  const T scale = static_cast<T>(g.scale);
  const bool scales_later = ds || g.soft_cap > 0;
  for (Index r = 0; r < g.tokens; ++r) {
    T* row = dp + r * g.keys;
    const Index end = g.rules.keys_before(r), begin = g.rules.first_key(r);
    std::fill_n(row, begin, T{0});
    std::fill_n(row + end, g.keys - end, T{0});
    softmax_grad_row(row + begin, p + r * g.keys + begin, end - begin, scales_later ? T{1} : scale,
                     row + begin);
    if (!scales_later) continue;
    if (ds) std::copy_n(row, g.keys, ds + r * g.keys);
    if (g.soft_cap > 0)
      for (Index i = begin; i < end; ++i) row[i] *= slopes[r * g.keys + i];
    scale_row(row, g.keys, scale, row);
  }
}

// Adds a head of q to the gradients of its own columns of q, to[0], and of those of the head of k
// and v; `more` if an earlier head was added to these.
template <class T>
void head_gradient(const AttentionHeads& g, const Dense& dy, HeadWorkspace<T>& w, Index b, Index h,
                   bool more, const std::array<T*, 3>& to, T* ds) {
  const Index shared = h / g.group(), q_stride = g.heads * g.width, k_stride = g.kv_heads * g.width,
              v_stride = g.kv_heads * g.v_width;
  const T *q = head_of(g.q, g.heads, b, h, 0, g.tokens, w.q),
          *k = head_of(g.k, g.kv_heads, b, shared, 0, g.keys, w.k),
          *v = head_of(g.v, g.kv_heads, b, shared, 0, g.keys, w.v),
          *from = head_of(dy, g.heads, b, h, 0, g.tokens, w.dy);
  const T* p = weights_of(g, b, h, {0, g.tokens, 0, g.keys}, q, k, w.p, &w.slopes);
  if (to[2])
    multiply_to(Transpose::a, g.keys, g.v_width, g.tokens, p, from, more, w.out, to[2], v_stride);
  if (!to[0] && !to[1] && !ds) return;
  w.dp.resize(g.tokens * g.keys);
  T* dp = w.dp.data();
  gemm(Transpose::b, g.tokens, g.keys, g.v_width, from, v, dp, 1);
  score_gradient(g, p, w.slopes.data(), dp, ds);
  const T* scores = dp;
  if (to[0])
    multiply_to(Transpose::none, g.tokens, g.width, g.keys, scores, k, false, w.out, to[0],
                q_stride);
  if (to[1])
    multiply_to(Transpose::a, g.keys, g.width, g.tokens, scores, q, more, w.out, to[1], k_stride);
}

}  // namespace

Outputs attention_gradient(const Call& call) {
  const AttentionHeads g("attention.grad", call, 1);
  const Dense& dy = call.in[0].as<Dense>();
  return with_real("attention.grad", dy.dtype(), [&]<class T>(T) -> Outputs {
    const Shape shapes[] = {g.q.extents, g.k.extents, g.v.extents};
    std::array<std::optional<OutputRows<T>>, 3> out;
    std::array<OutputRows<T>*, 3> wanted{};
    for (std::size_t i = 0; i < 3; ++i)
      if (call.wants(i)) wanted[i] = &out[i].emplace(call.out(i), shapes[i]);
    const bool wants_bias = g.bias && call.wants(3);
    Dense scores = unwritten<T>(wants_bias ? g.scores() : Shape{0});
    T* const ds = scores.values.template mutate<T>().data();
    const Index group = g.group();
    const auto add_group = [&](HeadWorkspace<T>& w, Index b, Index shared, std::array<T*, 3> to) {
      for (Index i = 0; i < group; ++i) {
        const Index h = shared * group + i, at = (b * g.heads + h) * g.tokens * g.keys;
        head_gradient(g, dy, w, b, h, i > 0, to, wants_bias ? ds + at : nullptr);
        if (to[0]) to[0] += g.width;
      }
    };
    const bool is_empty = g.k.size() == 0 && g.q.size() == 0;
    if (!is_empty)
      write_heads<T, 3>(wanted, {group * g.width, g.width, g.v_width}, g.batch, g.kv_heads,
                        add_group);
    Outputs grads(call.in.size() - 1);
    for (std::size_t i = 0; i < 3; ++i)
      if (wanted[i]) grads[i] = out[i]->take();
    if (wants_bias) grads[3] = sum_to<T>(call.out(3), scores, g.bias->extents);
    return grads;
  });
}

}  // namespace sten
