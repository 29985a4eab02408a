#include "libsten/data/tokenizer/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "libsten/core/base/utf8.h"

namespace sten {
namespace {

struct Range {
  std::int32_t first, last;
};

// Marks, punctuation, controls and formats assigned after Unicode 8; ranges may include letters.
constexpr Range after_8[] = {
    {0x61d, 0x61d},     {0x7fd, 0x7fd},     {0x890, 0x8e2},     {0x9fd, 0x9fe},
    {0xa76, 0xa76},     {0xafa, 0xaff},     {0xb55, 0xb55},     {0xc04, 0xc3c},
    {0xc77, 0xc77},     {0xc84, 0xc84},     {0xd00, 0xd00},     {0xd3b, 0xd3c},
    {0xd81, 0xd81},     {0xeba, 0xeba},     {0xece, 0xece},     {0x180f, 0x1886},
    {0x1abf, 0x1ace},   {0x1b7d, 0x1b7e},   {0x1df6, 0x1dfb},   {0x2e43, 0x2e5d},
    {0xa82c, 0xa82c},   {0xa8c5, 0xa8c5},   {0xa8ff, 0xa8ff},   {0xa9bd, 0xa9bd},
    {0x10d24, 0x10f89}, {0x11070, 0x11074}, {0x110c2, 0x110cd}, {0x111c9, 0x111c9},
    {0x111cf, 0x111cf}, {0x1123e, 0x11241}, {0x1133b, 0x1133b}, {0x11438, 0x1145e},
    {0x11660, 0x1166c}, {0x116b9, 0x116b9}, {0x1182f, 0x11fff}, {0x12ff1, 0x13455},
    {0x16e97, 0x16f4f}, {0x16fe2, 0x16fe4}, {0x1cf00, 0x1cf46}, {0x1e000, 0x1e4ef},
    {0x1e944, 0x1e95f}};

// Letters and numbers assigned after Unicode 14.
constexpr Range letters_after_14[] = {{0x1123f, 0x11240}, {0x11f02, 0x11f59}, {0x1342f, 0x13446},
                                      {0x1b132, 0x1b132}, {0x1b155, 0x1b155}, {0x1d2c0, 0x1d2d3},
                                      {0x1df25, 0x1e06d}, {0x1e4d0, 0x1e4f9}, {0x2b739, 0x2b739},
                                      {0x31350, 0x323af}};

constexpr Range ideographs[] = {{0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xf900, 0xfaff},
                                {0x20000, 0x2a6df}, {0x2a700, 0x2b81f}, {0x2b920, 0x2ceaf},
                                {0x2f800, 0x2fa1f}};

template <std::size_t N>
bool is_in(const Range (&table)[N], std::int32_t c) {
  const Range* at = std::ranges::lower_bound(table, c, {}, &Range::last);
  return at != std::end(table) && at->first <= c;
}

CharacterClass slow_class_of(std::int32_t c) {
  switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
      return is_in(letters_after_14, c) ? CharacterClass::other : CharacterClass::letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
      return is_in(letters_after_14, c) ? CharacterClass::other : CharacterClass::number;
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
  return k == UTF8PROC_CATEGORY_CF && !is_in(after_8, c);
}

bool is_punctuation(std::int32_t c) {
  if (c < 0x80) return c > 32 && c < 127 && class_of(c) == CharacterClass::other;
  const utf8proc_category_t k = utf8proc_category(c);
  if (k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO) return !is_in(after_8, c);
  return c == 0x166d || c == 0x111c9;  // changed in versions 12 and 11
}

bool is_nonspacing_mark(std::int32_t c) {
  if (utf8proc_category(c) == UTF8PROC_CATEGORY_MN) return !is_in(after_8, c);
  return c == 0x1734;  // changed in version 14
}

bool is_ideograph(std::int32_t c) { return is_in(ideographs, c); }

bool is_space(std::int32_t c) {
  return (c >= 9 && c <= 13) || c == 32 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

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
  append_utf8(c == 0x130 ? 'i' : utf8proc_tolower(c), to);
  if (c == 0x130) append_utf8(0x307, to);  // the only letter with two lower-case code points
}

int decompose(std::int32_t c, std::int32_t to[4]) {
  int boundary = 0;
  if (!is_in(after_8, c)) {
    const utf8proc_ssize_t n = utf8proc_decompose_char(c, to, 4, UTF8PROC_DECOMPOSE, &boundary);
    if (n >= 1 && n <= 4) return static_cast<int>(n);
  }
  to[0] = c;
  return 1;
}

int combining_class(std::int32_t c) {
  const int k = utf8proc_get_property(c)->combining_class;
  return k == 0 || is_in(after_8, c) || c == 0x1715 || c == 0x16ff0 || c == 0x16ff1 ? 0 : k;
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
