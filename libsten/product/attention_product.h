// Attention on activations in any form: softmax(scale * q . k + bias) v of each head and sequence.
#pragma once
#include <algorithm>
#include <array>
#include <optional>

#include "libsten/product/panels.h"

namespace sten {

struct AttentionExtents {
  Index batch, tokens, keys;    // sequences; of each, queries and keys
  Index heads, width, v_width;  // heads, and features of one
  float scale;
  const std::uint8_t* seen =
      nullptr;  // [batch, keys], 0 for a key that is hidden; nullptr: none is
  // Is added to the scores; nullptr: nothing is. In it from one sequence to the next, head, token
  // and key, which is 1: 0 where it is the same for all.
  const float* bias = nullptr;
  std::array<Index, 4> bias_steps{};
  bool causal = false;  // of query i the keys after keys - tokens + i are hidden

  // How many keys, from the first on, a query may see.
  Index keys_before(Index query) const {
    return causal ? std::clamp<Index>(keys - tokens + query + 1, 0, keys) : keys;
  }
  double flops() const {
    double pairs = 0;
    for (Index i = 0; i < tokens; ++i) pairs += static_cast<double>(keys_before(i));
    return 2.0 * static_cast<double>(batch * heads) * pairs * static_cast<double>(width + v_width);
  }
};

// From one index to the next of each of the scores' extents [batch, heads, tokens, keys], in a bias
// that is repeated to them: 0 where it has one element for all. Nothing where it cannot be.
std::optional<std::array<Index, 4>> bias_steps(const Shape& bias, const Shape& scores);

// y of heads * v_width features and batch * tokens tokens, from q of as many tokens, and k and v of
// batch * keys, features of one head after those of the other. Where no key is seen it is 0. On
// threads(), and a token's bits depend on nothing but its own sequence. Panels are worked on where
// they lie, if sequences start with one; everything else is copied a head at a time. The last
// keys of a sequence are not looked at where a bias of -1e30 or less, the same for all of its
// tokens, outweighs every score.
void attention_product(const AttentionExtents& a, const Activations& q, const Activations& k,
                       const Activations& v, const ActivationsOut& y);

}  // namespace sten
