// SPDX-License-Identifier: Apache-2.0
// softmax(q k^T / sqrt(d)) v for each head (Vaswani et al. 2017), where several heads of q can
// share a head of k and v (Ainslie et al. 2023). The gradient computes the weights again, so that
// no tensor of size tokens x tokens is saved. Only the gradient of a bias is as large.
#include "libsten/compute/ops/attention/attention_heads.h"
#include "libsten/compute/ops/common/register.h"

namespace sten {
namespace {

// Whether queries fill enough of a panel, and the keys of a bias are contiguous.
bool is_for_panels(const AttentionHeads& g) {
  return 2 * g.tokens >= panel_width && (!g.bias || g.steps[3] == 1);
}

// Runs some sequences, without a matrix of tokens x keys.
void attend_in_panels(const AttentionHeads& g, Index first, Index count, float* y) {
  std::vector<std::uint8_t> seen(g.seen.empty() ? 0 : count * g.keys);
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = g.seen_in(first)[i] != 0;
  const auto rows = [&](const Dense& x) -> Activations {
    const Index tokens = x.extents[1], features = x.extents[2];
    return {ActivationLayout::tokens, features, count * tokens,
            x.values.as<float>().data() + first * tokens * features};
  };
  AttentionExtents a = g.rules;
  a.batch = count;
  if (!seen.empty()) a.seen = seen.data();
  if (g.bias) a.bias = g.bias_of<float>(first, 0);
  a.bias_steps = g.steps;
  attention_product(a, rows(g.q), rows(g.k), rows(g.v),
                    {ActivationLayout::tokens, g.heads * g.v_width, count * g.tokens, y});
}
// Runs all sequences; for an output that is not dense, one at a time, with the same bits.
void attend_in_panels(const AttentionHeads& g, OutputRows<float>& out) {
  if (float* y = out.in_place()) return attend_in_panels(g, 0, g.batch, y);
  std::vector<float> y(out.cols());
  for (Index b = 0; b < g.batch; ++b) {
    attend_in_panels(g, b, 1, y.data());
    out.write(b, 1, y.data());
  }
}

// Writes a head's columns of the output. With a window, runs some queries at a time, with the keys
// that they see.
template <class T>
void attend_head(const AttentionHeads& g, HeadWorkspace<T>& w, Index b, Index h, T* to) {
  const Index shared = h / g.group(), stride = g.heads * g.v_width;
  const Index at_once = g.window > 0 ? panel_width : g.tokens;
  for (Index first = 0; first < g.tokens; first += at_once) {
    const Index count = std::min(at_once, g.tokens - first), begin = g.rules.first_key(first);
    const QueryBlock of{first, count, begin, g.rules.keys_before(first + count - 1) - begin};
    const T *q = head_of(g.q, g.heads, b, h, first, count, w.q),
            *k = head_of(g.k, g.kv_heads, b, shared, begin, of.keys, w.k);
    const T *p = weights_of(g, b, h, of, q, k, w.p),
            *v = head_of(g.v, g.kv_heads, b, shared, begin, of.keys, w.v);
    w.out.resize(count * g.v_width);
    gemm(Transpose::none, count, g.v_width, of.keys, p, v, w.out.data(), 1);
    copy_rows(w.out.data(), g.v_width, count, g.v_width, to + first * stride, stride);
  }
}

Outputs forward(const Call& call) {
  const AttentionHeads g("attention", call, 0);
  return with_real("attention", g.q.dtype(), [&]<class T>(T) -> Outputs {
    OutputRows<T> out(call.out(), g.result());
    if (size_of(g.result()) == 0) return {out.take()};
    if constexpr (std::same_as<T, float>)
      if (is_for_panels(g)) {
        attend_in_panels(g, out);
        return {out.take()};
      }
    write_heads<T, 1>({&out}, {g.v_width}, g.batch, g.heads,
                      [&](HeadWorkspace<T>& w, Index b, Index h, std::array<T*, 1> to) {
                        attend_head(g, w, b, h, to[0]);
                      });
    return {out.take()};
  });
}

}  // namespace

void add_attention(Operators& all) {
  all.declare("attention", {SavedForBackward::inputs});
  for (const std::size_t inputs : {3, 4}) {  // the mask or bias is the fourth input
    add_streamed(all, "attention", std::vector<Name>(inputs, "dense"), 1, forward);
    add_streamed(all, "attention.grad", std::vector<Name>(inputs + 1, "dense"), inputs,
                 attention_gradient);
  }
}

}  // namespace sten
