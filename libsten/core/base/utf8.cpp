// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/utf8.h"

namespace sten {

std::int32_t next_code_point(std::string_view s, std::size_t& i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(s[k]); };
  const unsigned char b = byte(i++);
  if (b < 0x80) return b;
  const int extra = b >= 0xf0 && b < 0xf5   ? 3
                    : b >= 0xe0 && b < 0xf0 ? 2
                    : b >= 0xc2 && b < 0xe0 ? 1
                                            : 0;
  if (extra == 0 || i + extra > s.size()) return -1;
  std::int32_t code = b & (0x3f >> extra);
  for (int k = 0; k < extra; ++k) {
    if ((byte(i + k) & 0xc0) != 0x80) return -1;
    code = code << 6 | (byte(i + k) & 0x3f);
  }
  const bool overlong = code < (extra == 1 ? 0x80 : extra == 2 ? 0x800 : 0x10000);
  if (overlong || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return -1;
  i += extra;
  return code;
}

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();)
    if (next_code_point(text, i) < 0) return false;
  return true;
}

bool is_space(std::int32_t c) {
  return (c >= 9 && c <= 13) || c == 32 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

std::size_t last_character(std::string_view text) {
  std::size_t begin = text.size();
  if (begin == 0) return 0;
  do --begin;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80);
  return begin;
}

std::size_t spaces_at_begin(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < text.size() && is_space(next_code_point(text, i));) end = i;
  return end;
}

std::size_t spaces_at_end(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    std::size_t begin = last_character(text.substr(0, end)), i = begin;
    if (!is_space(next_code_point(text, i)) || i != end) break;
    end = begin;
  }
  return text.size() - end;
}

}  // namespace sten
