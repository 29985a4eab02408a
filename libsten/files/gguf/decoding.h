// SPDX-License-Identifier: Apache-2.0
// Decoding of a GGUF tensor to the elements of a Hugging Face checkpoint.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "libsten/core/tensor/values.h"
#include "libsten/files/gguf/tensor_names.h"
#include "libsten/files/gguf/types.h"

namespace sten {

// How the bytes of a tensor are stored in a GGUF file.
struct GgufStorage {
  const GgufType* type = nullptr;
  GgufChange change = GgufChange::none;
  Index heads = 1;                              // of a change of rows
  std::string name;                             // in the file
  std::optional<DType> rounded = std::nullopt;  // the elements are rounded to F16 or BF16
  std::optional<Index> expert = std::nullopt;   // the index of the matrix in a stack of experts

  // Whether the bytes are the elements in row-major order.
  bool is_plain() const {
    return !type->is_quantized() && dtype() == *type->dtype &&
           (change == GgufChange::none || change == GgufChange::row_as_vector);
  }
  // The dtype of the decoded elements.
  DType dtype() const {
    return rounded ? *rounded : change == GgufChange::add_one ? DType::F32 : *type->dtype;
  }
};

// Error if a tensor of this shape cannot have the change: rows that are not whole heads, a change of
// integers.
void check_gguf_change(const GgufStorage& storage, const Shape& shape);

// Dequantizes, reverses the change, and rounds. `bytes`: those of the shape, which has passed the
// check. Error for a finite element that is beyond the range of the dtype.
Values decode_gguf(std::span<const std::byte> bytes, const Shape& shape,
                   const GgufStorage& storage);

// The reverse: `values` of F32, F16 or BF16 as bytes of storage.type. Error for types that
// quantize() cannot write, for elements that are not finite in a quantized type, and for finite ones
// that are beyond the range of the type.
Array<std::byte> encode_gguf(const Values& values, const Shape& shape, const GgufStorage& storage);

}  // namespace sten
