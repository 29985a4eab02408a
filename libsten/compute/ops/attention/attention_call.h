// SPDX-License-Identifier: Apache-2.0
// Checked calls of attention, for all its implementations.
#pragma once
#include <array>

#include "libsten/compute/ops/common/check.h"
#include "libsten/compute/product/attention_product.h"

namespace sten {

// Extents and attributes of attention for q [batch, tokens, heads * width], k [batch, keys,
// kv_heads * width] and v [batch, keys, kv_heads * v_width]. Error (usage), in the name of `op`,
// for shapes and attributes that do not fit.
struct AttentionProblem {
  Index batch, tokens, keys;
  Index heads, kv_heads;  // of q; of k and v
  Index width, v_width;   // per head
  double scale;           // of the scores
  double soft_cap;        // c > 0: scores become c tanh(score / c)
  bool is_causal;
  Index window;  // number of keys that a query sees, up to its own; 0: all

  AttentionProblem(std::string_view op, const Attributes& attributes, const Shape& q,
                   const Shape& k, const Shape& v);

  // The number of heads of q that share a head of k and v.
  Index group() const { return heads / kv_heads; }
  Shape result() const { return {batch, tokens, heads * v_width}; }
  Shape scores() const { return {batch, heads, tokens, keys}; }
  // For attention_product(), without a mask or a bias.
  AttentionExtents extents() const;
};

// Operands and attributes of attention; or with first = 1 those of its gradient, whose input 0 is
// the gradient of the output.
struct AttentionCall : AttentionProblem {
  const Dense &q, &k, &v;
  const Dense* mask = nullptr;   // [batch, keys], 0 for masked keys
  const Dense* bias = nullptr;   // added to the scores; excludes a mask
  std::array<Index, 4> steps{};  // of the bias: for sequence, head, token, key

  AttentionCall(const char* op, const Call& call, std::size_t first);

 private:
  void take_bias(const char* op, const Dense& x);
};

}  // namespace sten
