// Attention on activations in pairs of bfloat16.
#pragma once
#include "libsten/product/attention_product.h"
#include "libsten/product/interleaved.h"

namespace sten {

// As attention_product() of float32, with float32 scores and sums; what kernels/bf16_attention.h says of
// weights. Keys and values are copied a head at a time; queries and y are worked on where they lie, if
// sequences begin with a panel and heads have whole tiles of features.
void attention_product(const AttentionExtents& a, const Interleaved& q, const Interleaved& k,
                       const Interleaved& v, const InterleavedOut& y);

}  // namespace sten
