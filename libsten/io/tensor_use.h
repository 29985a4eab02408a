// What the nodes of a model do with a tensor.
#pragma once
#include <cstdint>
#include <string_view>

namespace sten {

enum class TensorUse : std::uint8_t {
  unknown,  // a file of tensors alone does not say
  weight,   // something is multiplied or convolved with it
  head,     // the same, and the result is an output of the model
  table,    // rows of it are looked up
  other,
};

// Whether a weight is a constant by its name: the basis of a Fourier transform, a bank of mel
// filters, or the whole numbers of YOLO's `dfl`, which turn a distribution into its mean.
bool is_fixed_basis(std::string_view name);

}  // namespace sten
