// Attention on activations in pairs of bfloat16.
#pragma once
#include "libsten/product/attention_product.h"
#include "libsten/product/pairs.h"

namespace sten {

// As attention_product() of float32, with float32 scores and sums; what kernels/pair_attention.h says of
// weights. Keys and values are copied a head at a time; queries and y are worked on where they lie, if
// sequences begin with a panel and heads have whole tiles of features.
void attention_product(const AttentionExtents& a, const Pairs& q, const Pairs& k, const Pairs& v,
                       const PairsOut& y);

}  // namespace sten
