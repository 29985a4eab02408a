// SPDX-License-Identifier: Apache-2.0
#include "libsten/model/nn/layers.h"

#include <cmath>

#include "libsten/model/graph/dropout.h"

namespace sten {

Spec uniform_for(Index inputs) {
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  return Spec("uniform").set("bound", fmt::format("{}", bound));
}

Linear::Linear(Index in, Index out, bool bias)
    : weight_(weight("weight", {out, in}, uniform_for(in))),
      bias_(bias ? &weight("bias", {out}, uniform_for(in)) : nullptr) {}

Var Linear::forward(const Var& x) const {
  return bias_ ? linear(x, weight_, *bias_) : linear(x, weight_);
}

LayerNorm::LayerNorm(Index size, double eps)
    : weight_(weight("weight", {size}, Spec("ones"))), bias_(weight("bias", {size})), eps_(eps) {}

Var LayerNorm::forward(const Var& x) const { return layer_norm(x, weight_, bias_, eps_); }

Embedding::Embedding(Index count, Index size)
    : weight_(weight("weight", {count, size}, Spec::parse("normal:std=1"))) {}

Var Embedding::forward(const Var& ids) const { return embedding(weight_.var(), ids); }

Dropout::Dropout(double p) : p_(p) {
  if (!(p >= 0 && p < 1)) fail_usage("dropout: p must be in [0, 1), got {}", p);
}

Var Dropout::forward(const Var& x) const {
  if (!is_training() || p_ == 0) return x;
  Dense calls = Dense::zeros(DType::I64, {});
  calls.values.mutate<std::int64_t>()[0] = calls_++;
  Tracer* tracer = Tracer::current();
  const Var draw = tracer ? tracer->shared_input(draw_input, calls) : Var(Tensor(calls));
  return dropout(x, draw, p_, dropout_seed(TraceScope::path()));
}

Attention::Attention(Index width, Index heads, bool is_causal)
    : heads_(heads),
      is_causal_(is_causal),
      q_(child<Linear>("q_proj", width, width)),
      k_(child<Linear>("k_proj", width, width)),
      v_(child<Linear>("v_proj", width, width)),
      out_(child<Linear>("out_proj", width, width)) {
  if (heads < 1 || width % heads != 0)
    fail_usage("attention: expected heads that divide the width {}, got {}", width, heads);
}

Var Attention::forward(const Var& q, const Var& k, const Var& v,
                       const std::optional<Var>& mask) const {
  std::vector<Var> in{q_(q), k_(k), v_(v)};
  if (mask) in.push_back(*mask);
  Attributes a = Attributes().set("heads", heads_);
  if (is_causal_) a.set("causal", Index{1});
  return out_(apply(Name("attention"), in, a, Formats::dense()));
}

}  // namespace sten
