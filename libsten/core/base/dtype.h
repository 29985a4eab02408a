// SPDX-License-Identifier: Apache-2.0
// Element types of a tensor, named as safetensors names them.
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sten {

// clang-format off
enum class DType : std::uint8_t {
  BOOL, F4, F6_E2M3, F6_E3M2, U8, I8, F8_E5M2, F8_E4M3, F8_E8M0, F8_E4M3FNUZ, F8_E5M2FNUZ,
  I16, U16, F16, BF16, I32, U32, F32, C64, F64, I64, U64
};
// clang-format on

// "F32"; the exact word in a safetensors header.
std::string_view name_of(DType t);
std::optional<DType> dtype_from(std::string_view name);

// 4 or 6 for the packed small floats, else a multiple of 8.
int bits_of(DType t);
// Bytes per element: 1, 2, 4 or 8; 0 for sub-byte types, whose tensors are only copied whole.
int width_of(DType t);
// Whether a sparsifier can rank the elements by magnitude: F64 F32 F16 BF16 F8_E4M3 F8_E5M2.
bool is_prunable(DType t);

// The dtype whose elements are T: F32 for float, I64 for std::int64_t.
template <class T>
constexpr DType dtype_for() {
  if constexpr (std::same_as<T, std::uint8_t>) return DType::U8;
  if constexpr (std::same_as<T, std::int8_t>) return DType::I8;
  if constexpr (std::same_as<T, std::uint16_t>) return DType::U16;
  if constexpr (std::same_as<T, std::int16_t>) return DType::I16;
  if constexpr (std::same_as<T, std::uint32_t>) return DType::U32;
  if constexpr (std::same_as<T, std::int32_t>) return DType::I32;
  if constexpr (std::same_as<T, std::uint64_t>) return DType::U64;
  if constexpr (std::same_as<T, std::int64_t>) return DType::I64;
  if constexpr (std::same_as<T, float>) return DType::F32;
  if constexpr (std::same_as<T, double>) return DType::F64;
}

// Calls f(U{}) with the unsigned integer U of `width` 1, 2, 4 or 8 bytes, for code that moves
// elements.
template <class F>
decltype(auto) with_width(int width, F&& f) {
  switch (width) {
    case 1:
      return f(std::uint8_t{});
    case 2:
      return f(std::uint16_t{});
    case 4:
      return f(std::uint32_t{});
    default:
      return f(std::uint64_t{});
  }
}

}  // namespace sten
