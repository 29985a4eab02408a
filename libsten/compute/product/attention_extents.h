// SPDX-License-Identifier: Apache-2.0
// Extents, mask and bias of scaled dot-product attention.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>

#include "libsten/core/base/shape.h"

namespace sten {

struct AttentionExtents {
  Index batch, tokens, keys;    // sequences; queries and keys of each sequence
  Index heads, width, v_width;  // heads; features of a head of q and k, and of v
  float scale;
  const std::uint8_t* seen =
      nullptr;  // [batch, keys], 0 for a hidden key; nullptr: all keys are seen
  // Added to the scores; nullptr: none. bias_steps: distance from one sequence, head, token and key
  // to the next; 1 for keys, 0 for an axis that the bias is broadcast along.
  const float* bias = nullptr;
  std::array<Index, 4> bias_steps{};
  bool causal = false;  // hides keys after keys - tokens + i from query i
  Index group = 1;      // neighbouring heads of q that share a head of k and v
  float soft_cap = 0;   // c > 0: a scaled score s becomes c tanh(s / c), before the bias
  Index window = 0;     // n > 0: hides all keys but the last n that a query may see; needs causal

  Index kv_heads() const { return heads / group; }
  // The number of keys, from the first on, that a query may see.
  Index keys_before(Index query) const {
    return causal ? std::clamp<Index>(keys - tokens + query + 1, 0, keys) : keys;
  }
  // The first key that a query may see.
  Index first_key(Index query) const {
    return window > 0 ? std::max<Index>(0, keys_before(query) - window) : 0;
  }
  double flops() const {
    double pairs = 0;
    for (Index i = 0; i < tokens; ++i) pairs += static_cast<double>(keys_before(i) - first_key(i));
    return 2.0 * static_cast<double>(batch * heads) * pairs * static_cast<double>(width + v_width);
  }
};

}  // namespace sten
