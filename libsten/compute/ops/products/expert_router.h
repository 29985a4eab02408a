// SPDX-License-Identifier: Apache-2.0
// Routing of a mixture of experts (Shazeer et al. 2017): the top_k experts of each token.
#pragma once
#include <vector>

#include "libsten/core/base/shape.h"

namespace sten {

// A token of an expert.
struct RoutedToken {
  Index token, slot;  // its weight is ExpertRouting::weights[token * top_k + slot]
};

// With p = softmax(logits) of a token, its experts are those of the top_k largest p, in descending
// order; of equal ones, the first. Their weights are p, or p divided by the sum of the chosen p.
template <class T>
struct ExpertRouting {
  Index experts, top_k;
  bool normalizes;
  std::vector<T> p;                            // [tokens, experts]
  std::vector<Index> chosen;                   // [tokens, top_k]
  std::vector<T> weights;                      // [tokens, top_k]
  std::vector<std::vector<RoutedToken>> load;  // of each expert, in order of tokens

  ExpertRouting(const T* logits, Index tokens, Index experts, Index top_k, bool normalizes);

  // The gradient of the logits from that of the weights; both [tokens, ...] as above.
  void gradient(const T* dweights, T* dlogits) const;
};
extern template struct ExpertRouting<float>;
extern template struct ExpertRouting<double>;

}  // namespace sten
