// SPDX-License-Identifier: Apache-2.0
// Common modules (model/nn/module.h); image_layers.h has those of images. Names and initial values of
// weights are those of torch.nn, except for Attention.
#pragma once
#include <optional>

#include "libsten/model/nn/module.h"

namespace sten {

// Initial values of a layer with that many inputs, as in torch.nn: uniform in [-b, b) with b = 1 /
// sqrt(inputs).
Spec uniform_for(Index inputs);

// Maps x[..., in] to x weight[out, in]^T + bias[out], [..., out]. Initial weights are uniform in
// [-1 / sqrt(in), 1 / sqrt(in)).
class Linear : public Module {
 public:
  Linear(Index in, Index out, bool bias = true);
  Var forward(const Var& x) const;

 private:
  const ModuleWeight& weight_;
  const ModuleWeight* bias_;
};

// Normalizes the last axis, of extent `size`; see layer_norm().
class LayerNorm : public Module {
 public:
  explicit LayerNorm(Index size, double eps = 1e-5);
  Var forward(const Var& x) const;

 private:
  const ModuleWeight &weight_, &bias_;
  double eps_;
};

// Row i of weight[count, size] for each integer i of ids: [ids..., size]. Initial weights are
// normal.
class Embedding : public Module {
 public:
  Embedding(Index count, Index size);
  Var forward(const Var& ids) const;

 private:
  const ModuleWeight& weight_;
};

// In training mode, keeps elements of x with probability 1 - p, scaled by 1 / (1 - p); else returns
// x. Each call drops other elements, the same ones in each process. In a trace, the graph has an
// input that seeds them (model/graph/dropout.h).
class Dropout : public Module {
 public:
  explicit Dropout(double p);
  Var forward(const Var& x) const;

 private:
  double p_;
  mutable Index calls_ = 0;
};

// Attention of several heads (Vaswani et al. 2017) from queries q[B, T, width] to keys and values
// k, v[B, S, width]: [B, T, width]. `heads` must divide width. A mask[B, S], I64 or I32, hides keys
// where it is 0; if causal, query i sees the keys up to S - T + i. Its linear layers are q_proj,
// k_proj, v_proj and out_proj, so that each weight can be sparse.
class Attention : public Module {
 public:
  Attention(Index width, Index heads, bool is_causal = false);
  Var forward(const Var& q, const Var& k, const Var& v, const std::optional<Var>& mask = {}) const;
  // Of x to itself.
  Var forward(const Var& x) const { return forward(x, x, x); }

 private:
  Index heads_;
  bool is_causal_;
  Child<Linear> q_, k_, v_, out_;
};

}  // namespace sten
