// softmax(q k^T / sqrt(d)) v for each head (Vaswani et al. 2017). The gradient computes the weights
// again, so that no tensor of size tokens x tokens is saved. Only the gradient of a bias is as
// large.
#include <algorithm>
#include <array>
#include <cstring>

#include "libsten/compute/ops/attention/attention_call.h"
#include "libsten/compute/ops/common/broadcast.h"
#include "libsten/compute/ops/common/gemm.h"
#include "libsten/compute/ops/common/indices.h"
#include "libsten/compute/ops/common/output.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/ops/norms/softmax_row.h"
#include "libsten/compute/product/attention_product.h"

namespace sten {
namespace {

struct Given : AttentionCall {
  std::vector<Index> seen;  // 0 for masked keys; empty without a mask

  Given(const char* op, const Call& call, std::size_t first) : AttentionCall(op, call, first) {
    if (mask) seen = integers_of(op, "the mask's elements", *mask);
  }
  // The number of leading keys that a query sees.
  Index keys_before(Index query) const {
    return is_causal ? std::clamp<Index>(keys - tokens + query + 1, 0, keys) : keys;
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
struct Workspace {
  std::vector<T> q, k, v, dy, p, dp, out;
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

// Gathers the columns of a head in a sequence: [rows, width].
template <class T>
const T* head_of(const Dense& x, const Given& g, Index b, Index h, std::vector<T>& out) {
  const Index rows = x.extents[1], stride = x.extents[2], width = stride / g.heads;
  out.resize(rows * width);
  if (out.empty()) return out.data();
  const T* from = x.values.as<T>().data() + b * rows * stride + h * width;
  copy_rows(from, stride, rows, width, out.data(), width);
  return out.data();
}

// Adds A[m, k] * B[k, n] to a head's columns of an output. Threads share the heads, so each product
// runs on one thread.
template <class T>
void multiply_to(Transpose transposed, Index m, Index n, Index k, const T* a, const T* b,
                 const Given& g, std::vector<T>& head, T* to) {
  head.resize(m * n);
  gemm(transposed, m, n, k, a, b, head.data(), 1);
  copy_rows(head.data(), n, m, n, to, g.heads * n);
}

// Replaces rows of scores by weights. Weights of masked keys are 0, and a row without visible keys
// is all 0.
template <class T>
void weigh(T* x, const Given& g, const Index* seen) {
  const T by = static_cast<T>(g.scale);
  for (Index r = 0; r < g.tokens; ++r, x += g.keys) {
    Index n = g.keys_before(r);
    if (seen && std::all_of(seen, seen + n, [](Index s) { return s == 0; })) n = 0;
    for (Index i = 0; seen && i < n; ++i)
      if (seen[i] == 0) x[i] = -std::numeric_limits<T>::infinity();
    if (n > 0) softmax_row(x, n, by, x);
    std::fill_n(x + n, g.keys - n, T{0});
  }
}

// The same with a bias, where each row is a plain softmax.
template <class T>
void weigh_biased(T* x, const Given& g, const T* bias) {
  const Index step = g.steps[3];
  const T by = static_cast<T>(g.scale);
  for (Index r = 0; r < g.tokens; ++r, x += g.keys, bias += g.steps[2]) {
    const Index n = g.keys_before(r);
    if (step == 1)
      for (Index i = 0; i < n; ++i) x[i] = by * x[i] + bias[i];
    else
      for (Index i = 0; i < n; ++i) x[i] = by * x[i] + bias[0];
    if (n > 0) softmax_row(x, n, T{1}, x);
    std::fill_n(x + n, g.keys - n, T{0});
  }
}

// Scores of one head: [tokens, keys].
template <class T>
const T* weights_of(const Given& g, Index b, Index h, const T* q, const T* k, std::vector<T>& p) {
  p.resize(g.tokens * g.keys);
  gemm(Transpose::b, g.tokens, g.keys, g.width, q, k, p.data(), 1);
  if (g.bias)
    weigh_biased(p.data(), g, g.bias_of<T>(b, h));
  else
    weigh(p.data(), g, g.seen_in(b));
  return p.data();
}

// Calls f(workspace, b, h, to) for all heads on threads(). to[i] is the start of the head's
// widths[i] columns in output i; nullptr for unwanted outputs.
template <class T, std::size_t N, class F>
void write_heads(std::array<OutputRows<T>*, N> out, const std::array<Index, N>& widths,
                 const Given& g, F&& f) {
  using StridedView = std::array<T*, N>;
  const bool in_place =
      std::ranges::all_of(out, [](OutputRows<T>* o) { return !o || o->in_place(); });
  const auto place = [&](std::size_t i, Index b) {
    return out[i]->in_place() + b * out[i]->cols();
  };
  const auto heads = [&](Workspace<T>& work, Index b, Index begin, Index end,
                         const StridedView& rows) {
    for (Index h = begin; h < end; ++h) {
      StridedView to = rows;
      for (std::size_t k = 0; k < N; ++k)
        if (to[k]) to[k] += h * widths[k];
      f(work, b, h, to);
    }
  };
  if (in_place) {
    const Index all = g.batch * g.heads, grain = std::max<Index>(1, all / (8 * threads()));
    parallel_for(all, grain, [&](Index begin, Index end) {
      Workspace<T> work;
      for (Index i = begin; i < end; ++i) {
        StridedView rows{};
        for (std::size_t k = 0; k < N; ++k)
          if (out[k]) rows[k] = place(k, i / g.heads);
        heads(work, i / g.heads, i % g.heads, i % g.heads + 1, rows);
      }
    });
    return;
  }
  parallel_for(g.batch, 1, [&](Index begin, Index end) {
    std::array<std::vector<T>, N> tiles;
    Workspace<T> work;
    for (Index b = begin; b < end; ++b) {
      StridedView rows{};
      for (std::size_t k = 0; k < N; ++k) {
        if (!out[k]) continue;
        tiles[k].resize(out[k]->cols());
        rows[k] = out[k]->in_place() ? place(k, b) : tiles[k].data();
      }
      heads(work, b, 0, g.heads, rows);
      for (std::size_t k = 0; k < N; ++k)
        if (out[k] && !out[k]->in_place()) out[k]->write(b, 1, rows[k]);
    }
  });
}

// Whether queries fill enough of a panel, and the keys of a bias are contiguous.
bool is_for_panels(const Given& g) {
  return 2 * g.tokens >= panel_width && (!g.bias || g.steps[3] == 1);
}

// Runs some sequences, without a matrix of tokens x keys.
void attend_in_panels(const Given& g, Index first, Index count, float* y) {
  std::vector<std::uint8_t> seen(g.seen.empty() ? 0 : count * g.keys);
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = g.seen_in(first)[i] != 0;
  const auto rows = [&](const Dense& x) -> Activations {
    const Index tokens = x.extents[1], features = x.extents[2];
    return {ActivationLayout::tokens, features, count * tokens,
            x.values.as<float>().data() + first * tokens * features};
  };
  AttentionExtents a{
      count, g.tokens, g.keys, g.heads, g.width, g.v_width, static_cast<float>(g.scale)};
  if (!seen.empty()) a.seen = seen.data();
  if (g.bias) a.bias = g.bias_of<float>(first, 0);
  a.bias_steps = g.steps;
  a.causal = g.is_causal;
  attention_product(a, rows(g.q), rows(g.k), rows(g.v),
                    {ActivationLayout::tokens, g.heads * g.v_width, count * g.tokens, y});
}
// Runs all sequences; for an output that is not dense, one at a time, with the same bits.
void attend_in_panels(const Given& g, OutputRows<float>& out) {
  if (float* y = out.in_place()) return attend_in_panels(g, 0, g.batch, y);
  std::vector<float> y(out.cols());
  for (Index b = 0; b < g.batch; ++b) {
    attend_in_panels(g, b, 1, y.data());
    out.write(b, 1, y.data());
  }
}

Outputs forward(const Call& call) {
  const Given g("attention", call, 0);
  return with_real("attention", g.q.dtype(), [&]<class T>(T) -> Outputs {
    OutputRows<T> out(call.out(), g.result());
    if (size_of(g.result()) == 0) return {out.take()};
    if constexpr (std::same_as<T, float>)
      if (is_for_panels(g)) {
        attend_in_panels(g, out);
        return {out.take()};
      }
    write_heads<T, 1>(
        {&out}, {g.v_width}, g, [&](Workspace<T>& w, Index b, Index h, std::array<T*, 1> to) {
          const T *q = head_of(g.q, g, b, h, w.q), *k = head_of(g.k, g, b, h, w.k);
          const T *p = weights_of(g, b, h, q, k, w.p), *v = head_of(g.v, g, b, h, w.v);
          multiply_to(Transpose::none, g.tokens, g.v_width, g.keys, p, v, g, w.out, to[0]);
        });
    return {out.take()};
  });
}

// With weights P: dV = P^T dY, dP = dY V^T, dS = P * (dP - sum(P * dP)) by rows, dQ = scale dS K,
// dK = scale dS^T Q. dS of one head, the gradient of a bias, is written to ds if wanted.
template <class T>
void head_gradient(const Given& g, const Dense& dy, Workspace<T>& w, Index b, Index h,
                   std::array<T*, 3> to, T* ds) {
  const T *q = head_of(g.q, g, b, h, w.q), *k = head_of(g.k, g, b, h, w.k);
  const T *v = head_of(g.v, g, b, h, w.v), *from = head_of(dy, g, b, h, w.dy);
  const T* p = weights_of(g, b, h, q, k, w.p);
  if (to[2]) multiply_to(Transpose::a, g.keys, g.v_width, g.tokens, p, from, g, w.out, to[2]);
  if (!to[0] && !to[1] && !ds) return;
  w.dp.resize(g.tokens * g.keys);
  T* dp = w.dp.data();
  gemm(Transpose::b, g.tokens, g.keys, g.v_width, from, v, dp, 1);
  const T scale = static_cast<T>(g.scale);
  for (Index r = 0; r < g.tokens; ++r) {
    T* row = dp + r * g.keys;
    const Index n = g.keys_before(r);
    softmax_grad_row(row, p + r * g.keys, n, ds ? T{1} : scale, row);
    std::fill_n(row + n, g.keys - n, T{0});
    if (!ds) continue;
    std::copy_n(row, g.keys, ds + r * g.keys);
    scale_row(row, g.keys, scale, row);
  }
  if (to[0]) multiply_to<T>(Transpose::none, g.tokens, g.width, g.keys, dp, k, g, w.out, to[0]);
  if (to[1]) multiply_to<T>(Transpose::a, g.keys, g.width, g.tokens, dp, q, g, w.out, to[1]);
}

Outputs backward(const Call& call) {
  const Given g("attention.grad", call, 1);
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
    const bool is_empty = g.k.size() == 0 && g.q.size() == 0;
    if (!is_empty)
      write_heads<T, 3>(wanted, {g.width, g.width, g.v_width}, g,
                        [&](Workspace<T>& w, Index b, Index h, std::array<T*, 3> to) {
                          const Index at = (b * g.heads + h) * g.tokens * g.keys;
                          head_gradient(g, dy, w, b, h, to, wants_bias ? ds + at : nullptr);
                        });
    Outputs grads(call.in.size() - 1);
    for (std::size_t i = 0; i < 3; ++i)
      if (wanted[i]) grads[i] = out[i]->take();
    if (wants_bias) grads[3] = sum_to<T>(call.out(3), scores, g.bias->extents);
    return grads;
  });
}

}  // namespace

void add_attention(Operators& all) {
  all.declare("attention", {SavedForBackward::inputs});
  for (const std::size_t inputs : {3, 4}) {  // the mask or bias is the fourth input
    add_streamed(all, "attention", std::vector<Name>(inputs, "dense"), 1, forward);
    add_streamed(all, "attention.grad", std::vector<Name>(inputs + 1, "dense"), inputs, backward);
  }
}

}  // namespace sten
