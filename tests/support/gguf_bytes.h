// SPDX-License-Identifier: Apache-2.0
// GGUF files as raw bytes, valid or not.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

// Kinds of metadata values, by number.
namespace gguf_kind {
inline constexpr std::uint32_t u32 = 4, i32 = 5, f32 = 6, boolean = 7, text = 8, array = 9,
                               u64 = 10;
}

// The bytes of a number, little-endian.
template <class T>
std::string gguf_number(T value) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &value, sizeof(T));
  return bytes;
}

inline std::string gguf_text(std::string_view text) {
  return gguf_number<std::uint64_t>(text.size()).append(text);
}

// The description of a tensor: dimensions in the file's order, number of the type, offset.
inline std::string gguf_tensor(std::string_view name, const std::vector<std::uint64_t>& dimensions,
                               std::uint32_t type, std::uint64_t offset) {
  std::string bytes = gguf_text(name) + gguf_number(static_cast<std::uint32_t>(dimensions.size()));
  for (const std::uint64_t d : dimensions) bytes += gguf_number(d);
  return bytes + gguf_number(type) + gguf_number(offset);
}

// A key with a value: the number of its kind and its bytes.
inline std::string gguf_entry(std::string_view key, std::uint32_t kind, std::string_view value) {
  return (gguf_text(key) + gguf_number(kind)).append(value);
}

// The value of an array: the number of its elements' kind, and numbers or texts.
template <class T>
std::string gguf_list(std::uint32_t kind, const std::vector<T>& values) {
  std::string bytes = gguf_number(kind) + gguf_number(std::uint64_t{values.size()});
  for (const T& v : values)
    if constexpr (std::is_arithmetic_v<T>)
      bytes += gguf_number(v);
    else
      bytes += gguf_text(v);
  return bytes;
}

struct GgufBytes {
  std::uint32_t version = 3;
  std::vector<std::string> metadata = {}, tensors = {};  // by the functions above
  std::string data = {};                                 // after padding to 32 bytes

  std::string str() const {
    std::string file = "GGUF" + gguf_number(version) + gguf_number(std::uint64_t{tensors.size()}) +
                       gguf_number(std::uint64_t{metadata.size()});
    for (const std::string& m : metadata) file += m;
    for (const std::string& t : tensors) file += t;
    file.resize((file.size() + 31) / 32 * 32);
    return file + data;
  }
};
