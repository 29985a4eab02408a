// SPDX-License-Identifier: Apache-2.0
// Attention on a device, by batched products of all heads. Heads of q that share a head of k and v
// are the rows of one matrix. As on the CPU, the gradient computes the weights again, so that no
// tensor of size tokens x tokens is saved.
#include "libsten/compute/ops/attention/attention_call.h"
#include "libsten/compute/ops/common/device.h"
#include "libsten/compute/ops/common/register.h"
#include "libsten/compute/product/device_gemm.h"

namespace sten {
namespace {

using kernels::AttentionScores;
using kernels::GemmOperands;

struct DeviceAttention : AttentionCall {
  AttentionScores a;

  DeviceAttention(const char* op, const Call& call, std::size_t first)
      : AttentionCall(op, call, first),
        a{batch,     heads,   tokens,  keys, static_cast<float>(scale),
          is_causal, nullptr, nullptr, {},   static_cast<float>(soft_cap),
          window} {
    for (std::size_t i = first; i < first + 3; ++i) floats_on_device(op, call.in[i]);
    if (mask) a.seen = integers_on_device(op, call.in[first + 3]);
    if (bias) a.bias = floats_on_device(op, call.in[first + 3]);
    for (std::size_t d = 0; d < 4; ++d) a.steps[d] = steps[d];
    if (width == 0) fail_unsupported("{} on a device needs heads of 1 or more channels", op);
  }
  bool is_empty() const { return batch * tokens * keys * v_width == 0; }
};

using HeadsMoves = std::vector<kernels::HeadsMove>;

void split_heads_on_device(const AttentionCall& g, const HeadsMoves& all) {
  if (all.empty()) return;
  launch(&kernels::RowFunctions::split_heads, all, g.batch);
}
void join_heads_on_device(const AttentionCall& g, const HeadsMoves& all) {
  if (all.empty()) return;
  launch(&kernels::RowFunctions::merge_heads, all, g.batch);
}

// The matrices of a tensor [batch, tokens, heads * width], one per head of k and v: the heads of q
// that share it are one matrix [group * tokens, width]. In place if matrices have a common stride,
// otherwise in a copy [batch, heads, tokens, width]. Several tensors are copied in one launch.
struct HeadMatrices {
  Index batch, heads, tokens, width;
  Index count, rows;  // matrices, and the rows of each
  bool is_copy;
  Index ld, step;
  Dense x;  // owner of the matrices

  HeadMatrices(const AttentionCall& g, Index heads, Index tokens, Index width)
      : batch(g.batch),
        heads(heads),
        tokens(tokens),
        width(width),
        count(batch * g.kv_heads),
        rows(heads / g.kv_heads * tokens),
        is_copy((batch != 1 && heads != 1) || heads != g.kv_heads),
        ld(is_copy ? width : heads * width),
        step(is_copy || batch != 1 ? rows * width : width) {}
  // Matrices of an input; adds a copy to `moves`, which the caller runs.
  HeadMatrices(const AttentionCall& g, const Dense& from, Index heads, Index width,
               HeadsMoves& moves)
      : HeadMatrices(g, heads, from.extents[1], width) {
    x = is_copy ? output_on_device(split()) : from;
    if (!is_copy) return;
    moves.push_back({reinterpret_cast<const float*>(from.values.bytes().data()), tokens, heads,
                     width, floats_of_output(x)});
  }
  // Matrices of an uninitialized output.
  static HeadMatrices output(const AttentionCall& g, Index heads, Index tokens, Index width) {
    HeadMatrices h(g, heads, tokens, width);
    h.x = output_on_device(h.is_copy ? h.split() : h.joined());
    return h;
  }
  static HeadMatrices scores(const AttentionCall& g) {
    HeadMatrices h(g, g.heads, g.tokens, g.keys);
    h.ld = g.keys;
    h.step = h.rows * g.keys;
    h.x = output_on_device(g.scores());
    return h;
  }
  Shape split() const { return {batch, heads, tokens, width}; }
  Shape joined() const { return {batch, tokens, heads * width}; }
  const float* data() const { return reinterpret_cast<const float*>(x.values.bytes().data()); }
  float* to() { return floats_of_output(x); }
  // The tensor with heads side by side; adds a copy to `moves`, which the caller runs.
  Dense result(HeadsMoves& moves) const {
    if (!is_copy) return x;
    Dense y = output_on_device(joined());
    moves.push_back({data(), tokens, heads, width, floats_of_output(y)});
    return y;
  }
};

struct Factor {
  const HeadMatrices& x;
  bool is_transposed = false;
};
// C[m, n] = alpha op(A) op(B) for each matrix, with k as the inner extent.
void multiply_heads(Factor a, Factor b, Index k, HeadMatrices& c, float alpha = 1) {
  GemmOperands g;
  g.m = c.rows, g.n = c.width, g.k = k, g.batch = c.count;
  g.a = a.x.data(), g.lda = a.x.ld, g.a_step = a.x.step, g.transpose_a = a.is_transposed;
  g.b = b.x.data(), g.ldb = b.x.ld, g.b_step = b.x.step, g.transpose_b = b.is_transposed;
  g.c = c.to(), g.ldc = c.ld, g.c_step = c.step, g.alpha = alpha;
  device_gemm(g);
}

// Stores the slopes of the soft cap, unless `slopes` is nullptr.
HeadMatrices weights_on_device(const DeviceAttention& g, const HeadMatrices& q,
                               const HeadMatrices& k, float* slopes = nullptr) {
  HeadMatrices p = HeadMatrices::scores(g);
  multiply_heads({q}, {k, true}, g.width, p);
  launch(&kernels::RowFunctions::attention_weights, g.a, p.to(), slopes);
  return p;
}
// x *= y
void multiply_on_device(HeadMatrices& x, const HeadMatrices& y) {
  const kernels::MapAxes all{1, {{x.x.size(), {1, 1}}}};
  launch(&kernels::MapFunctions::binary, kernels::BinaryFunction::mul, all, x.data(), y.data(),
         x.to());
}

Dense zeros_on_device(const Shape& shape) {
  return {shape, Values(DType::F32, size_of(shape), Device::cuda)};
}

Outputs attend_on_device(const Call& call) {
  const DeviceAttention g("attention", call, 0);
  if (g.is_empty()) return {zeros_on_device(g.result())};
  HeadsMoves split, merge;
  std::optional<HeadMatrices> q, k, v, p;
  q.emplace(g, g.q, g.heads, g.width, split);
  k.emplace(g, g.k, g.kv_heads, g.width, split);
  v.emplace(g, g.v, g.kv_heads, g.v_width, split);
  split_heads_on_device(g, split);
  p = weights_on_device(g, *q, *k);
  q.reset(), k.reset();
  HeadMatrices y = HeadMatrices::output(g, g.heads, g.tokens, g.v_width);
  multiply_heads({*p}, {*v}, g.keys, y);
  p.reset(), v.reset();
  Dense result = y.result(merge);
  join_heads_on_device(g, merge);
  return {std::move(result)};
}

// With weights P: dV = P^T dY, dP = dY V^T, dS = P * (dP - sum(P * dP)) by rows, which is the
// gradient of a bias; then, after the slopes of a soft cap, dQ = scale dS K and dK = scale dS^T Q.
Outputs attend_grad_on_device(const Call& call) {
  const char* op = "attention.grad";
  const DeviceAttention g(op, call, 1);
  const Dense& dy = call.in[0].as<Dense>();
  Outputs grads(call.in.size() - 1);
  const bool wants_bias = g.bias && call.wants(3);
  if (g.is_empty()) {
    const Dense* of[] = {&g.q, &g.k, &g.v, g.bias};
    for (std::size_t i = 0; i < grads.size(); ++i)
      if (of[i] && call.wants(i)) grads[i] = zeros_on_device(of[i]->extents);
    return grads;
  }
  HeadsMoves split, merge;
  const HeadMatrices q(g, g.q, g.heads, g.width, split), k(g, g.k, g.kv_heads, g.width, split),
      v(g, g.v, g.kv_heads, g.v_width, split), from(g, dy, g.heads, g.v_width, split);
  split_heads_on_device(g, split);
  std::optional<HeadMatrices> slopes;
  if (g.soft_cap > 0) slopes = HeadMatrices::scores(g);
  const HeadMatrices p = weights_on_device(g, q, k, slopes ? slopes->to() : nullptr);
  std::vector<std::pair<std::size_t, HeadMatrices>> made;  // by input
  if (call.wants(2)) {
    HeadMatrices& dv =
        made.emplace_back(2, HeadMatrices::output(g, g.kv_heads, g.keys, g.v_width)).second;
    multiply_heads({p, true}, {from}, p.rows, dv);
  }
  HeadMatrices ds = HeadMatrices::scores(g);
  if (call.wants(0) || call.wants(1) || wants_bias) {
    multiply_heads({from}, {v, true}, g.v_width, ds);
    launch(&kernels::RowFunctions::attention_grad, g.a, p.data(), ds.to());
  }
  if (wants_bias)
    grads[3] = output_of(g.bias->extents, &kernels::RowFunctions::bias_grad, g.a, ds.data());
  if (slopes && (call.wants(0) || call.wants(1))) multiply_on_device(ds, *slopes);
  const auto scale = static_cast<float>(g.scale);
  if (call.wants(0)) {
    HeadMatrices& dq =
        made.emplace_back(0, HeadMatrices::output(g, g.heads, g.tokens, g.width)).second;
    multiply_heads({ds}, {k}, g.keys, dq, scale);
  }
  if (call.wants(1)) {
    HeadMatrices& dk =
        made.emplace_back(1, HeadMatrices::output(g, g.kv_heads, g.keys, g.width)).second;
    multiply_heads({ds, true}, {q}, ds.rows, dk, scale);
  }
  for (const auto& [input, gradient] : made) grads[input] = gradient.result(merge);
  join_heads_on_device(g, merge);
  return grads;
}

}  // namespace

void add_device_attention(Operators& all) {
  for (const std::size_t inputs : {3, 4}) {  // the mask or bias is the fourth input
    add_device_operator(all, "attention", inputs, attend_on_device);
    add_device_operator(all, "attention.grad", inputs + 1, attend_grad_on_device, inputs);
  }
}

}  // namespace sten
