// SPDX-License-Identifier: Apache-2.0
// A BERT of two layers with its inputs and weights.
#pragma once
#include "libsten/core/registry/registry.h"
#include "libsten/model/nn/bert.h"
#include "tests/support/parts.h"

namespace sten::testing {

inline BertConfig small_bert() {
  BertConfig c;
  c.num_hidden_layers = 2;
  c.hidden_size = 48;
  c.num_attention_heads = 3;
  c.intermediate_size = 112;
  c.vocab_size = 50;
  c.max_position_embeddings = 80;
  return c;
}

// `batch` sequences of `window` tokens; with `masked`, the last tokens of the second sequence are
// hidden.
inline NamedValues<Tensor> bert_values(Index batch, Index window, bool masked) {
  Dense ids = Dense::zeros(DType::I64, {batch, window}), mask = ids;
  for (Index i = 0; i < batch * window; ++i) {
    ids.values.mutate<std::int64_t>()[i] = (i * 7919 + i / 3) % 50;
    mask.values.mutate<std::int64_t>()[i] = i / window != 1 || i % window < window / 2;
  }
  NamedValues<Tensor> all = bert_inputs(ids);
  if (masked) all.emplace("attention_mask", mask);
  return all;
}

// The encoder's weights, `by` times their initial values. In a sparse layout half of them are 0, or
// as many as n:m:g prunes.
inline NamedValues<Tensor> bert_weights(const Graph& g, const char* layout, double by) {
  const Spec spec = Spec::parse(layout);
  NamedValues<Tensor> all = initial_weights(g, 4);
  for (auto& [name, w] : all) {
    if (!name.starts_with("bert.encoder.") || w.shape().size() != 2) continue;
    w = scale(w, by);
    if (!spec.is("dense"))
      w = registry().prune(w.as<Dense>(),
                           spec.is("nmg") ? spec : Spec::parse("magnitude:sparsity=0.5"), spec);
  }
  return all;
}

}  // namespace sten::testing
