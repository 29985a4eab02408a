// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/types.h"

#include <algorithm>
#include <iterator>

namespace sten {
namespace {

// ggml's enum ggml_type and its block sizes (ggml.h, ggml-common.h; GGML_QUANT_SIZES of gguf-py).
constexpr GgufType types[] = {
    {0, "F32", 1, 4, DType::F32},
    {1, "F16", 1, 2, DType::F16},
    {2, "Q4_0", 32, 18, DType::F32},
    {3, "Q4_1", 32, 20, DType::F32},
    {4, "Q4_2"},
    {5, "Q4_3"},
    {6, "Q5_0", 32, 22, DType::F32},
    {7, "Q5_1", 32, 24, DType::F32},
    {8, "Q8_0", 32, 34, DType::F32},
    {9, "Q8_1", 32, 40},
    {10, "Q2_K", 256, 84, DType::F32},
    {11, "Q3_K", 256, 110, DType::F32},
    {12, "Q4_K", 256, 144, DType::F32},
    {13, "Q5_K", 256, 176, DType::F32},
    {14, "Q6_K", 256, 210, DType::F32},
    {15, "Q8_K", 256, 292},
    {16, "IQ2_XXS", 256, 66},
    {17, "IQ2_XS", 256, 74},
    {18, "IQ3_XXS", 256, 98},
    {19, "IQ1_S", 256, 50},
    {20, "IQ4_NL", 32, 18, DType::F32},
    {21, "IQ3_S", 256, 110},
    {22, "IQ2_S", 256, 82},
    {23, "IQ4_XS", 256, 136},
    {24, "I8", 1, 1, DType::I8},
    {25, "I16", 1, 2, DType::I16},
    {26, "I32", 1, 4, DType::I32},
    {27, "I64", 1, 8, DType::I64},
    {28, "F64", 1, 8, DType::F64},
    {29, "IQ1_M", 256, 56},
    {30, "BF16", 1, 2, DType::BF16},
    {31, "Q4_0_4_4"},
    {32, "Q4_0_4_8"},
    {33, "Q4_0_8_8"},
    {34, "TQ1_0", 256, 54},
    {35, "TQ2_0", 256, 66},
    {36, "IQ4_NL_4_4"},
    {37, "IQ4_NL_4_8"},
    {38, "IQ4_NL_8_8"},
    {39, "MXFP4", 32, 17},
    {40, "NVFP4", 64, 36},
    {41, "Q1_0", 128, 18},
};

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; }

}  // namespace

const GgufType* gguf_type(std::uint32_t number) {
  return number < std::size(types) ? &types[number] : nullptr;
}

const GgufType* gguf_type(std::string_view name) {
  const auto at = std::find_if(std::begin(types), std::end(types), [&](const GgufType& t) {
    return std::equal(t.name.begin(), t.name.end(), name.begin(), name.end(),
                      [](char a, char b) { return a == upper(b); });
  });
  return at == std::end(types) ? nullptr : &*at;
}

const GgufType* gguf_type_of(DType dtype) {
  const auto at = std::find_if(std::begin(types), std::end(types), [&](const GgufType& t) {
    return !t.is_quantized() && t.dtype == dtype;
  });
  return at == std::end(types) ? nullptr : &*at;
}

}  // namespace sten
