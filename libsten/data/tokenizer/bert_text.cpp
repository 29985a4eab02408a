// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/bert_text.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/unicode.h"

namespace sten {
namespace {

class BertNormalizer {
 public:
  explicit BertNormalizer(const BertTextOptions& o) : o_(o) {}

  void take(std::int32_t c) {
    if (o_.clean_text) {
      if (c == 0 || c == 0xfffd || is_control(c)) return;
      if (is_space(c)) c = ' ';
    }
    const bool spaced = o_.space_ideographs && is_ideograph(c);
    if (spaced) decomposed(' ');
    decomposed(c);
    if (spaced) decomposed(' ');
  }
  // An ASCII character, which needs no further steps.
  void take_plain(char c) {
    if (!marks_.empty()) flush();
    out_ += c;
  }
  std::string finish() {
    flush();
    return std::move(out_);
  }
  void reserve(std::size_t n) { out_.reserve(n); }

 private:
  void decomposed(std::int32_t c) {
    if (!o_.strip_accents) return put(c);
    std::array<std::int32_t, max_decomposition> parts;
    const int n = decompose(c, parts, false);
    for (int i = 0; i < n; ++i) {
      const std::int32_t part = parts[static_cast<std::size_t>(i)];
      const int order = combining_class(part);
      if (order == 0) flush();
      marks_.emplace_back(order, part);
      if (order == 0) flush();
    }
  }
  // Appends marks in canonical order.
  void flush() {
    std::ranges::stable_sort(marks_, {}, &std::pair<int, std::int32_t>::first);
    for (const auto& [order, c] : marks_)
      if (!is_nonspacing_mark(c)) put(c);
    marks_.clear();
  }
  void put(std::int32_t c) { o_.lowercase ? append_lower(c, out_) : append_utf8(c, out_); }

  const BertTextOptions& o_;
  std::string out_;
  std::vector<std::pair<int, std::int32_t>> marks_;
};

}  // namespace

std::string bert_normalized(std::string_view text, const BertTextOptions& o) {
  // The result for ASCII characters; -1 for those of the general case.
  std::array<int, 128> plain;
  for (int c = 0; c < 128; ++c) {
    plain[static_cast<std::size_t>(c)] = c < 32 || c == 127 ? -1 : c;
    if (o.lowercase && c >= 'A' && c <= 'Z') plain[static_cast<std::size_t>(c)] = c + 32;
  }
  if (o.clean_text) plain['\n'] = plain['\t'] = plain['\r'] = ' ';
  BertNormalizer n(o);
  n.reserve(text.size() + text.size() / 8);
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 128 && plain[byte] >= 0) {
      n.take_plain(static_cast<char>(plain[byte]));
      ++i;
    } else {
      n.take(next_code_point(text, i));
    }
  }
  return n.finish();
}

void for_bert_words(std::string_view text, const std::function<void(std::string_view)>& word) {
  enum Kind : std::uint8_t { space, punctuation, part };
  const auto kind_of = [](std::int32_t c) {
    return is_space(c) ? space : is_punctuation(c) ? punctuation : part;
  };
  std::array<Kind, 128> ascii;
  for (std::int32_t c = 0; c < 128; ++c) ascii[static_cast<std::size_t>(c)] = kind_of(c);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t at = i;
    const auto byte = static_cast<unsigned char>(text[i]);
    const Kind kind = byte < 128 ? (++i, ascii[byte]) : kind_of(next_code_point(text, i));
    if (kind == part) continue;
    if (at > begin) word(text.substr(begin, at - begin));
    if (kind == punctuation) word(text.substr(at, i - at));
    begin = i;
  }
  if (begin < text.size()) word(text.substr(begin));
}

}  // namespace sten
