// SPDX-License-Identifier: Apache-2.0
#include "libsten/compute/ops/products/expert_router.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sten {
namespace {

template <class T>
void softmax_of(const T* x, Index n, T* y) {
  const T most = *std::max_element(x, x + n);
  double sum = 0;
  for (Index i = 0; i < n; ++i) sum += y[i] = std::exp(x[i] - most);
  for (Index i = 0; i < n; ++i) y[i] = static_cast<T>(y[i] / sum);
}

}  // namespace

template <class T>
ExpertRouting<T>::ExpertRouting(const T* logits, Index tokens, Index experts, Index top_k,
                                bool normalizes)
    : experts(experts),
      top_k(top_k),
      normalizes(normalizes),
      p(tokens * experts),
      chosen(tokens * top_k),
      weights(tokens * top_k),
      load(experts) {
  std::vector<Index> order(experts);
  for (Index t = 0; t < tokens; ++t) {
    const T* row = p.data() + t * experts;
    softmax_of(logits + t * experts, experts, p.data() + t * experts);
    std::iota(order.begin(), order.end(), Index{0});
    const auto is_before = [&](Index a, Index b) {  // NaN is last
      if (row[a] == row[b] || (std::isnan(row[a]) && std::isnan(row[b]))) return a < b;
      return row[a] > row[b] || std::isnan(row[b]);
    };
    std::partial_sort(order.begin(), order.begin() + top_k, order.end(), is_before);
    double sum = 0;
    for (Index k = 0; k < top_k; ++k) sum += row[order[k]];
    for (Index k = 0; k < top_k; ++k) {
      const Index at = t * top_k + k;
      chosen[at] = order[k];
      weights[at] = normalizes ? static_cast<T>(row[order[k]] / sum) : row[order[k]];
      load[order[k]].push_back({t, k});
    }
  }
}

// With the chosen sum S and w = p / S: dp = (dw - sum(w dw)) / S; and for the softmax, dlogits = p
// (dp - sum(p dp)).
template <class T>
void ExpertRouting<T>::gradient(const T* dweights, T* dlogits) const {
  const Index tokens = top_k == 0 ? 0 : std::ssize(chosen) / top_k;
  std::vector<double> dp(top_k);
  for (Index t = 0; t < tokens; ++t) {
    const T *row = p.data() + t * experts, *dw = dweights + t * top_k;
    const Index* who = chosen.data() + t * top_k;
    double along = 0, sum = 0, mean = 0;
    for (Index k = 0; k < top_k; ++k) {
      along += double{dw[k]} * weights[t * top_k + k];
      sum += row[who[k]];
    }
    for (Index k = 0; k < top_k; ++k) {
      dp[k] = normalizes ? (dw[k] - along) / sum : dw[k];
      mean += dp[k] * row[who[k]];
    }
    T* to = dlogits + t * experts;
    for (Index e = 0; e < experts; ++e) to[e] = static_cast<T>(-row[e] * mean);
    for (Index k = 0; k < top_k; ++k) to[who[k]] += static_cast<T>(row[who[k]] * dp[k]);
  }
}

template struct ExpertRouting<float>;
template struct ExpertRouting<double>;

}  // namespace sten
