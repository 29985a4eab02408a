// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/unicode.h"

#include <utf8proc.h>

#include <array>

#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/unicode_tables.h"

namespace sten {
namespace {

using namespace unicode_tables;

// Unicode 16.
utf8proc_category_t category_of(std::int32_t c) {
  const utf8proc_category_t category = utf8proc_category(c);
  if (category != UTF8PROC_CATEGORY_CN) return category;
  const CategoryRange* later = find_in(assigned_after_15, c);
  return later ? later->category : category;
}

CharacterClass slow_class_of(std::int32_t c) {
  switch (category_of(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return CharacterClass::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return CharacterClass::number;
    default:
      return is_space(c) ? CharacterClass::space : CharacterClass::other;
  }
}

// The length of an incomplete character; 1 if its first byte is invalid.
std::size_t malformed_bytes(const std::string& s, std::size_t i) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(s[k]); };
  const unsigned first = byte(i);
  if (first < 0xc2 || first > 0xf4) return 1;
  const std::size_t most = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  // Limits of the second byte, to exclude overlong forms, surrogates and large values.
  const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  std::size_t n = 1;
  while (n < most && i + n < s.size() && byte(i + n) >= (n == 1 ? low : 0x80) &&
         byte(i + n) <= (n == 1 ? high : 0xbf))
    ++n;
  return n;
}

}  // namespace

bool is_control(std::int32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  const utf8proc_category_t k = utf8proc_category(c);
  if (k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CO) return true;
  return k == UTF8PROC_CATEGORY_CF && !find_in(after_8, c);
}

bool is_punctuation(std::int32_t c) {
  if (c < 0x80) return c > 32 && c < 127 && class_of(c) == CharacterClass::other;
  const utf8proc_category_t k = utf8proc_category(c);
  if (k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO) return !find_in(after_8, c);
  return c == 0x166d || c == 0x111c9;  // changed in versions 12 and 11
}

bool is_nonspacing_mark(std::int32_t c) {
  if (utf8proc_category(c) == UTF8PROC_CATEGORY_MN) return !find_in(after_8, c);
  return c == 0x1734;  // changed in version 14
}

bool is_ideograph(std::int32_t c) { return find_in(ideographs, c) != nullptr; }

CharacterClass class_of(std::int32_t c) {
  static const auto ascii = [] {
    std::array<CharacterClass, 128> all;
    for (std::int32_t i = 0; i < 128; ++i) all[static_cast<std::size_t>(i)] = slow_class_of(i);
    return all;
  }();
  return c < 128 ? ascii[static_cast<std::size_t>(c)] : slow_class_of(c);
}

void append_utf8(std::int32_t c, std::string& to) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t n = utf8proc_encode_char(c, bytes);
  to.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(n));
}

void append_lower(std::int32_t c, std::string& to) {
  const LowerRange* later = c < 0x1c89 ? nullptr : find_in(lower_after_15, c);
  if (later) return append_utf8(later->lower + c - later->first, to);
  append_utf8(c == 0x130 ? 'i' : utf8proc_tolower(c), to);
  if (c == 0x130) append_utf8(0x307, to);  // the only letter with two lower-case code points
}

int decompose(std::int32_t c, std::span<std::int32_t, max_decomposition> to, bool compatible) {
  const int options = compatible ? UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT : UTF8PROC_DECOMPOSE;
  int boundary = 0;
  if (!find_in(decompositions_after_9, c)) {
    const utf8proc_ssize_t n = utf8proc_decompose_char(
        c, to.data(), max_decomposition, static_cast<utf8proc_option_t>(options), &boundary);
    if (n >= 1 && n <= max_decomposition) return static_cast<int>(n);
  }
  to[0] = c;
  return 1;
}

std::int32_t compose(std::int32_t a, std::int32_t b) {
  utf8proc_int32_t both[] = {a, b, 0};
  // UTF8PROC_STABLE respects the exclusions from composition.
  constexpr auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  const auto n = utf8proc_normalize_utf32(both, 2, options);
  return n == 1 && !find_in(decompositions_after_9, both[0]) ? both[0] : -1;
}

int combining_class(std::int32_t c) {
  const int k = utf8proc_get_property(c)->combining_class;
  return k == 0 || find_in(marks_after_9, c) ? 0 : k;
}

bool is_combining_mark(std::int32_t c) {
  if (c == 0x1cf2 || c == 0x1cf3) return true;  // changed in version 12
  const utf8proc_category_t k = utf8proc_category(c);
  return k >= UTF8PROC_CATEGORY_MN && k <= UTF8PROC_CATEGORY_ME && !find_in(marks_after_9, c);
}

std::string_view general_category(std::int32_t c) {
  static constexpr std::string_view names[] = {
      "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps",
      "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};
  return names[category_of(c)];
}

bool is_number(std::int32_t c) {
  return class_of(c) == CharacterClass::number || (c >= 0x11de0 && c <= 0x11de9) ||
         (c >= 0x16ff4 && c <= 0x16ff6);
}

bool is_word_character(std::int32_t c) {
  const std::string_view k = general_category(c);
  return k[0] == 'L' || k[0] == 'M' || k == "Nd" || k == "Nl" || k == "Pc" || c == 0x200c ||
         c == 0x200d || (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
         (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
}

std::string with_replacements(const std::string& bytes) {
  if (is_utf8(bytes)) return bytes;
  std::string out;
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t begin = i;
    if (next_code_point(bytes, i) >= 0) {
      out.append(bytes, begin, i - begin);
    } else {
      out += "\xef\xbf\xbd";
      i = begin + malformed_bytes(bytes, begin);
    }
  }
  return out;
}

}  // namespace sten
