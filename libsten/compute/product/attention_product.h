// SPDX-License-Identifier: Apache-2.0
// Attention on activations of any layout: softmax(cap(scale * q . k) + bias) v per head and
// sequence.
#pragma once
#include <array>
#include <optional>

#include "libsten/compute/product/attention_extents.h"
#include "libsten/compute/product/panels.h"

namespace sten {

// The bias_steps of a bias that is broadcast to scores of the extents [batch, heads, tokens, keys];
// 0 for broadcast axes. No value if the bias cannot be broadcast.
std::optional<std::array<Index, 4>> bias_steps(const Shape& bias, const Shape& scores);

// Computes y [batch * tokens tokens, heads * v_width features] from q [batch * tokens] and k, v
// [batch * keys], with the features of one head after those of another; k and v have a.kv_heads()
// heads. 0 for tokens that see no key. Runs on threads(); the results of a token depend only on its
// own sequence. Works in place on panels if sequences start at a panel; other activations are
// copied, a head at a time. Skips the last keys of a sequence if a bias of -1e30 or less, the same
// for all of its tokens, outweighs every score.
void attention_product(const AttentionExtents& a, const Activations& q, const Activations& k,
                       const Activations& v, const ActivationsOut& y);

}  // namespace sten
