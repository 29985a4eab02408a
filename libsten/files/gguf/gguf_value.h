// SPDX-License-Identifier: Apache-2.0
// Values of the metadata of GGUF files.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sten {

// Types of metadata values, by number.
enum class GgufKind : std::uint32_t {
  u8,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  text,
  array,
  u64,
  i64,
  f64
};

// A value of the metadata, which lies in the file.
struct GgufValue {
  GgufKind kind = GgufKind::u8;
  GgufKind element = GgufKind::u8;   // of an array
  std::uint64_t count = 0;           // elements of an array
  std::span<const std::byte> bytes;  // of the value; of an array, its elements

  // None for a value of another kind.
  std::optional<std::int64_t> integer() const;  // integers below 2^63
  std::optional<double> real() const;           // floats and integers
  std::optional<bool> boolean() const;
  std::optional<std::string_view> text() const;
  // The elements of an array of texts, or of numbers and truth values; empty for other values.
  std::vector<std::string_view> texts() const;
  std::vector<double> reals() const;
};

// Bytes of a value of fixed size; 0 for texts and arrays.
std::uint64_t width_of(GgufKind kind);

// A number in the file, little-endian, as all supported machines are.
template <class T>
T gguf_number_at(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

}  // namespace sten
