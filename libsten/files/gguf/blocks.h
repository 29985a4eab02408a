// SPDX-License-Identifier: Apache-2.0
// Quantization and dequantization of ggml's blocks.
#pragma once
#include <cstddef>
#include <span>
#include <string>

#include "libsten/files/gguf/types.h"

namespace sten {

// Dequantizes whole blocks of a quantized type with a dtype: to.size() is a multiple of
// type.elements. The formulas are those of ggml-quants.c and gguf-py (quants.py); each product is
// exact in float32, so that the results are the same bits.
void dequantize(const GgufType& type, std::span<const std::byte> from, std::span<float> to);

// Whether quantize() writes the type: F32, F16, BF16, Q8_0, Q4_0.
bool can_quantize(const GgufType& type);
// The type of this name, in any case, that quantize() writes. Error (usage) for other names.
const GgufType* gguf_output_type(const std::string& name);
// Rounds finite floats to a type: from.size() is a multiple of type.elements, and `to` has the bytes
// of the blocks. Zeros stay zeros. The bits are those of gguf.quants.quantize().
void quantize(const GgufType& type, std::span<const float> from, std::span<std::byte> to);

}  // namespace sten
