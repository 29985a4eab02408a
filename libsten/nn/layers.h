// The modules that most models are made of (nn/module.h). Names of weights and their initial values
// are those of torch.nn.
#pragma once
#include "libsten/nn/module.h"

namespace sten {

// x[..., in] to [..., out]: x weight[out, in]^T + bias[out], which begin uniform in [-1 / sqrt(in),
// 1 / sqrt(in)).
class Linear : public Module {
 public:
  Linear(Index in, Index out, bool bias = true);
  Var forward(const Var& x) const;

 private:
  const ModuleWeight& weight_;
  const ModuleWeight* bias_;
};

// Over the last axis, of that size; see layer_norm().
class LayerNorm : public Module {
 public:
  explicit LayerNorm(Index size, double eps = 1e-5);
  Var forward(const Var& x) const;

 private:
  const ModuleWeight &weight_, &bias_;
  double eps_;
};

// Row i of weight[count, size] for each integer i of ids: [ids..., size]. It begins normal.
class Embedding : public Module {
 public:
  Embedding(Index count, Index size);
  Var forward(const Var& ids) const;

 private:
  const ModuleWeight& weight_;
};

// While training, x where it stays, with probability 1 - p, times 1 / (1 - p): others at each call,
// the same in each process. In a trace an input of the graph draws them (nn/dropout.h). Else x.
class Dropout : public Module {
 public:
  explicit Dropout(double p);
  Var forward(const Var& x) const;

 private:
  double p_;
  mutable Index calls_ = 0;
};

}  // namespace sten
