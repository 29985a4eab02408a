// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/byte_level.h"

#include <unordered_map>

#include "libsten/core/base/utf8.h"

namespace sten {

const std::array<std::int32_t, 256>& byte_characters() {
  static const auto all = [] {
    std::array<std::int32_t, 256> c;
    std::int32_t next = 256;
    for (std::int32_t b = 0; b < 256; ++b) {
      const bool is_printed = (b > 32 && b < 127) || (b > 160 && b != 173);
      c[static_cast<std::size_t>(b)] = is_printed ? b : next++;
    }
    return c;
  }();
  return all;
}

std::optional<std::string> bytes_of(std::string_view subword) {
  static const auto bytes = [] {
    std::unordered_map<std::int32_t, char> all;
    for (int b = 0; b < 256; ++b)
      all.emplace(byte_characters()[static_cast<std::size_t>(b)], static_cast<char>(b));
    return all;
  }();
  std::string out;
  for (std::size_t i = 0; i < subword.size();) {
    const auto at = bytes.find(next_code_point(subword, i));
    if (at == bytes.end()) return std::nullopt;
    out += at->second;
  }
  return out;
}

}  // namespace sten
