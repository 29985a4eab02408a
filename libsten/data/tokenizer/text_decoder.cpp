// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/text_decoder.h"

#include <algorithm>

#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/byte_level.h"
#include "libsten/data/tokenizer/unicode.h"

namespace sten {
namespace {

using Texts = std::vector<std::string>;

std::string joined(const Texts& all) {
  std::string out;
  for (const std::string& s : all) out += s;
  return out;
}

// The byte of "<0x0A>", with hexadecimal digits of either case; -1 for others.
int fallback_byte(const std::string& subword) {
  if (subword.size() != 6 || !subword.starts_with("<0x") || subword[5] != '>') return -1;
  int value = 0;
  for (const char c : {subword[3], subword[4]}) {
    const char lower = static_cast<char>(c | 32);
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && !(lower >= 'a' && lower <= 'f')) return -1;
    value = 16 * value + (is_digit ? c - '0' : lower - 'a' + 10);
  }
  return value;
}

struct Decode {
  Texts all;

  Texts operator()(const DecodeBytes&) const {
    std::string bytes;
    for (const std::string& s : all) bytes += bytes_of(s).value_or(s);
    return {with_replacements(bytes)};
  }

  Texts operator()(const DecodeFallbackBytes&) const {
    Texts out;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (is_utf8(bytes))
        out.push_back(bytes);
      else
        out.insert(out.end(), bytes.size(), "\xef\xbf\xbd");
      bytes.clear();
    };
    for (const std::string& s : all) {
      if (const int byte = fallback_byte(s); byte >= 0) {
        bytes += static_cast<char>(byte);
        continue;
      }
      flush();
      out.push_back(s);
    }
    flush();
    return out;
  }

  Texts operator()(const Fuse&) const { return {joined(all)}; }

  Texts operator()(const StripCharacter& strip) const {
    Texts out = all;
    const std::string& c = strip.character;
    for (std::string& s : out) {
      for (std::size_t i = 0; i < strip.start && s.starts_with(c); ++i) s.erase(0, c.size());
      for (std::size_t i = 0; i < strip.stop && s.ends_with(c); ++i) s.resize(s.size() - c.size());
    }
    return out;
  }

  Texts operator()(const ReplaceText& change) const {
    Texts out;
    for (const std::string& s : all) out.push_back(replaced(s, change));
    return out;
  }

  Texts operator()(const Metaspace& m) const {
    const TextPattern mark = TextPattern::literal(m.replacement);
    Texts out;
    for (const std::string& s : all)
      out.push_back(replaced(s, {mark, out.empty() && m.prepend != Metaspace::never ? "" : " "}));
    return out;
  }
};

}  // namespace

std::string decoded(Texts subwords, const std::vector<DecoderStep>& steps) {
  for (const DecoderStep& step : steps) subwords = std::visit(Decode{std::move(subwords)}, step);
  return joined(subwords);
}

}  // namespace sten
