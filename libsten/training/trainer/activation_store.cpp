// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/activation_store.h"

#include "libsten/core/tensor/low_floats.h"

namespace sten {

Activation rounded(const Activation& a) {
  const auto one = [](const Tensor& x) { return rounded_to(DType::BF16, x); };
  return {one(a.dense), a.pruned ? std::optional(one(*a.pruned)) : std::nullopt};
}

Activation widened(const Activation& a) {
  return {widened(a.dense), a.pruned ? std::optional(widened(*a.pruned)) : std::nullopt};
}

Index bytes_of(const BatchActivations& activations) {
  Index bytes = 0;
  for (const auto& [value, a] : activations)
    bytes += static_cast<Index>(a.dense.bytes() + (a.pruned ? a.pruned->bytes() : 0));
  return bytes;
}

}  // namespace sten
