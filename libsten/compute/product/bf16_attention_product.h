// SPDX-License-Identifier: Apache-2.0
// Attention on interleaved bfloat16 activations.
#pragma once
#include "libsten/compute/product/attention_product.h"
#include "libsten/compute/product/interleaved.h"

namespace sten {

// Like attention_product() of float32, with float32 scores and sums; kernels/bf16_attention.h
// documents the rounding of weights. Keys and values are copied a head at a time. Queries and y are
// used in place if sequences start at a panel and heads have whole tiles of features.
void attention_product(const AttentionExtents& a, const Interleaved& q, const Interleaved& k,
                       const Interleaved& v, const InterleavedOut& y);

}  // namespace sten
