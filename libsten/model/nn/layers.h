// Common modules (model/nn/module.h). Names and initial values of weights are those of torch.nn.
#pragma once
#include "libsten/model/nn/module.h"

namespace sten {

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

}  // namespace sten
