// SPDX-License-Identifier: Apache-2.0
// Implementations of a form of product, in lists whose order is the choice.
#pragma once
#include <algorithm>
#include <iterator>

#include "libsten/compute/product/panels.h"
#include "libsten/core/base/error.h"
#include "libsten/core/tensor/tensor.h"

namespace sten {

// What the choice depends on, apart from the weight and active_isa().
struct ProductCall {
  Index tokens;
  bool has_panels = false;  // x or y consists of panels of panel_width
  double density = 1;       // the share of elements that the weight stores; known for bfloat16 only

  static ProductCall of(const Activations& x, const ActivationsOut& y) {
    constexpr ActivationLayout panels = ActivationLayout::panels;
    return {x.tokens, x.layout == panels || y.layout == panels};
  }
  // Whether panels are narrow.
  bool is_small_batch() const { return tokens <= narrow_panel_width && !has_panels; }
};

// Error (usage) unless a weight [rows, cols] times x is of y's extents.
template <class X, class Y>
void check_extents(const char* product, Index rows, Index cols, const X& x, const Y& y) {
  if (x.features != cols || y.features != rows || x.tokens != y.tokens)
    fail_usage("{}: {} times {} features of {} tokens does not give {} features of {} tokens",
               product, to_string({rows, cols}), x.features, x.tokens, y.features, y.tokens);
}

// Multiply: the type of its function, which packs the weight at the first call.
template <class Multiply, class Call = ProductCall>
struct ProductImpl {
  const char* name;
  bool (*supports)(const Tensor& weight, const Call& call);
  Multiply* multiply;
  void (*pack)(const Tensor& weight) = nullptr;  // drops the packed form, for measurements
};
inline bool always(const Tensor&, const ProductCall&) { return true; }

// The first implementation of a list that supports a call, or nullptr.
template <class Impls, class Call = ProductCall>
auto* first_supporting(const Impls& impls, const Tensor& weight, const Call& call) {
  const auto at = std::find_if(std::begin(impls), std::end(impls),
                               [&](const auto& impl) { return impl.supports(weight, call); });
  return at == std::end(impls) ? nullptr : &*at;
}

using SparseProductImpl =
    ProductImpl<void(const Tensor&, const Activations&, const ActivationsOut&, const Epilogue&)>;
using SampledProductImpl =
    ProductImpl<Values(const Tensor&, const Activations& dy, const Activations& x)>;

// The implementations that sparse_product(), sparse_transposed_product() and sampled_product()
// take, for a checked weight.
const SparseProductImpl& sparse_product_impl(const Tensor& a, const ProductCall& call);
const SparseProductImpl& transposed_product_impl(const Tensor& a, const ProductCall& call);
const SampledProductImpl& sampled_product_impl(const Tensor& a);

}  // namespace sten
