// SPDX-License-Identifier: Apache-2.0
// What calls of mixture-of-experts have in common.
#pragma once
#include "libsten/compute/ops/elementwise/unary_rows.h"
#include "libsten/compute/ops/products/expert_router.h"

namespace sten {

// Inputs: x, router logits, and for each expert gate [N, H], up [N, H] and down [H, N].
inline constexpr std::size_t first_expert_input = 2, weights_per_expert = 3;

// Attributes for that many experts. Error (usage) unless they fit.
struct MixtureAttributes {
  Index top_k;
  bool normalizes;
  const UnaryRow* activation;

  MixtureAttributes(const char* op, const Attributes& given, Index experts);
};

// What does not fit in the gate, up and down of an expert for that many features, in one line; ""
// if all fit.
std::string expert_misfit(Index expert, std::span<const Tensor> weights, Index features);

// The rows of x [..., features] of the tokens that an expert gets by the router's logits, [tokens,
// features], in order of tokens. `attributes` are those of the call.
Tensor rows_of_expert(const Attributes& attributes, const Dense& x, const Dense& logits,
                      Index expert);
// For each expert, the sum of the weights that the router's logits [..., experts] give to its tokens.
std::vector<double> router_weight_sums(const Attributes& attributes, const Dense& logits);
// What an expert's gate and up [N, features] make of such rows: `product` [tokens, N] is the input
// of its down.
struct ExpertHidden {
  Tensor gate, active, up, product;

  ExpertHidden(Name activation, const Tensor& rows, const Tensor& gate_weight,
               const Tensor& up_weight);
};

// Copies the rows of x [tokens, features] of an expert's tokens to `rows`, in the order of `load`.
template <class T>
void gather_tokens(const std::vector<RoutedToken>& load, Index features, const T* x, T* rows) {
  for (const RoutedToken& t : load) rows = std::copy_n(x + t.token * features, features, rows);
}
// Adds the rows of y, in the order of `load`, to those of their tokens in `to` [tokens, features],
// times the weights of the expert.
template <class T>
void add_weighted(const std::vector<RoutedToken>& load, const ExpertRouting<T>& routing,
                  Index features, const T* y, T* to) {
  for (const auto [token, slot] : load) {
    const T weight = routing.weights[token * routing.top_k + slot];
    for (Index i = 0; i < features; ++i) to[token * features + i] += weight * *y++;
  }
}

}  // namespace sten
