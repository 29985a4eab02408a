// Attention on activations of any layout: softmax(scale * q . k + bias) v per head and sequence.
#pragma once
#include <algorithm>
#include <array>
#include <optional>

#include "libsten/product/panels.h"

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

  // The number of keys, from the first on, that a query may see.
  Index keys_before(Index query) const {
    return causal ? std::clamp<Index>(keys - tokens + query + 1, 0, keys) : keys;
  }
  double flops() const {
    double pairs = 0;
    for (Index i = 0; i < tokens; ++i) pairs += static_cast<double>(keys_before(i));
    return 2.0 * static_cast<double>(batch * heads) * pairs * static_cast<double>(width + v_width);
  }
};

// The bias_steps of a bias that is broadcast to scores of the extents [batch, heads, tokens, keys];
// 0 for broadcast axes. No value if the bias cannot be broadcast.
std::optional<std::array<Index, 4>> bias_steps(const Shape& bias, const Shape& scores);

// Computes y [batch * tokens tokens, heads * v_width features] from q [batch * tokens] and k, v
// [batch * keys], with the features of one head after those of another. 0 for tokens that see no
// key. Runs on threads(); the results of a token depend only on its own sequence. Works in place on
// panels if sequences start at a panel; other activations are copied, a head at a time. Skips the
// last keys of a sequence if a bias of -1e30 or less, the same for all of its tokens, outweighs
// every score.
void attention_product(const AttentionExtents& a, const Activations& q, const Activations& k,
                       const Activations& v, const ActivationsOut& y);

}  // namespace sten
