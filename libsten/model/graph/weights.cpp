// SPDX-License-Identifier: Apache-2.0
// Weights in the formats of a graph.
#include "libsten/core/base/text.h"
#include "libsten/model/graph/graph.h"

namespace sten {

bool WeightFormat::is_dense() const { return is_keep_all(initial) && layout.is(Dense::name); }

NamedValues<Tensor> sparse_weights(const Graph& g, NamedValues<Tensor> weights,
                                   const NamedValues<Dense>& scores) {
  for (const Weight& w : g.weights()) {
    const auto at = weights.find(w.name);
    if (at == weights.end() || w.format.is_dense()) continue;
    const auto own = scores.find(w.name);
    try {
      at->second = sparsify(at->second, w.format.initial, w.format.layout,
                            {.scores = own == scores.end() ? nullptr : &own->second});
    } catch (const Error& e) {
      throw Error(e.fault(), fmt::format("weight {}: {}", quote(w.name), e.what()));
    }
  }
  return weights;
}

Var tape_weight(Tape& tape, const Weight& w, Tensor value) {
  return w.format.grad ? tape.parameter(std::move(value), *w.format.grad)
                       : tape.parameter(std::move(value));
}

NamedValues<Var> tape_weights(Tape& tape, const Graph& g, const NamedValues<Tensor>& weights) {
  NamedValues<Var> all;
  for (const auto& [name, value] : weights) {
    const Weight* w = g.find_weight(name);
    all.emplace(name, w ? tape_weight(tape, *w, value) : tape.parameter(value));
  }
  return all;
}

}  // namespace sten
