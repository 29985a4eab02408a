// SPDX-License-Identifier: Apache-2.0
// Element types of ggml, as GGUF files number them.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "libsten/core/base/dtype.h"

namespace sten {

// A type of ggml: blocks of `elements` values in `bytes` bytes. A row is a whole number of blocks.
struct GgufType {
  std::uint32_t number;
  std::string_view name;
  std::uint32_t elements = 0, bytes = 0;  // 0: a type of former versions
  // The dtype of the values: that of the elements, or F32 for blocks that dequantize() reads. None
  // for a type that is not supported.
  std::optional<DType> dtype = std::nullopt;

  bool is_quantized() const { return elements > 1; }
};

// nullptr for an unknown number.
const GgufType* gguf_type(std::uint32_t number);
// nullptr for an unknown name, such as "Q4_0" in any case.
const GgufType* gguf_type(std::string_view name);
// The type of unquantized elements; nullptr if ggml has none.
const GgufType* gguf_type_of(DType dtype);

}  // namespace sten
