// SPDX-License-Identifier: Apache-2.0
#include "libsten/training/trainer/activation_store.h"

#include "libsten/core/tensor/low_floats.h"

namespace sten {

BatchActivations rounded(BatchActivations activations) {
  for (auto& [value, x] : activations) x = rounded_to(DType::BF16, x);
  return activations;
}

Index bytes_of(const BatchActivations& activations) {
  Index bytes = 0;
  for (const auto& [value, x] : activations) bytes += static_cast<Index>(x.bytes());
  return bytes;
}

}  // namespace sten
