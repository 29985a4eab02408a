// What the nodes of a model do with a tensor.
#pragma once
#include <cstdint>

namespace sten {

enum class TensorUse : std::uint8_t {
  unknown,  // a file of tensors alone does not say
  weight,   // something is multiplied or convolved with it
  table,    // rows of it are looked up
  other,
};

}  // namespace sten
