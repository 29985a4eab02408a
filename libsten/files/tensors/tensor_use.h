// SPDX-License-Identifier: Apache-2.0
// The use of a tensor in a model's graph.
#pragma once
#include <cstdint>
#include <string_view>

namespace sten {

enum class TensorUse : std::uint8_t {
  unknown,  // in a file without a graph
  weight,   // operand of a product or convolution
  head,     // weight whose product is an output of the model
  table,    // lookup table of rows
  other,
};

// Whether the name is that of a constant: the basis of a Fourier transform, a bank of mel filters,
// or the integers of YOLO's `dfl`, which turn a distribution into its mean.
bool is_fixed_basis(std::string_view name);

}  // namespace sten
