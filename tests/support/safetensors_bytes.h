// SPDX-License-Identifier: Apache-2.0
// Safetensors files as raw bytes, valid or not.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

// A header length, true or not, followed by `rest`.
inline std::string with_length(std::uint64_t length, std::string_view rest) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(length >> 8 * i & 0xff);
  return file.append(rest);
}

inline std::string safetensors_bytes(std::string_view header, std::string_view data = "") {
  return with_length(header.size(), header).append(data);
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
