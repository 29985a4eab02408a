// Attention on activations in any form: softmax(scale * q . k) v of each head and sequence.
#pragma once
#include "libsten/product/panels.h"

namespace sten {

struct AttentionExtents {
  Index batch, tokens, keys;    // sequences; of each, queries and keys
  Index heads, width, v_width;  // heads, and features of one
  float scale;
  const std::uint8_t* seen =
      nullptr;  // [batch, keys], 0 for a key that is hidden; nullptr: none is

  double flops() const {
    return 2.0 * static_cast<double>(batch * heads * tokens) *
           static_cast<double>(keys * (width + v_width));
  }
};

// y of heads * v_width features and batch * tokens tokens, from q of as many tokens, and k and v of
// batch * keys, features of one head after those of the other. Where no key is seen it is 0. On
// threads(), and a token's bits depend on nothing but its own sequence. Panels are worked on where
// they lie, if sequences begin with one; what else there is, is copied a head at a time.
void attention_product(const AttentionExtents& a, const Activations& q, const Activations& k,
                       const Activations& v, const ActivationsOut& y);

}  // namespace sten
