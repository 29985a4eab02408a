// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/text_pattern.h"

#include <re2/re2.h>

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/regex_syntax.h"

namespace sten {
namespace {

// Of a compiled expression and its automaton; those of known tokenizers compile in 1 MB.
constexpr std::int64_t max_memory = 8 << 20;

// \s+(?!\S)
std::size_t spaces_before_last(std::string_view text, std::size_t at) {
  std::size_t last = at, end = at;
  for (std::size_t next = at; next < text.size() && is_space(next_code_point(text, next));) {
    last = end;
    end = next;
  }
  if (end < text.size()) end = last;
  return end > at ? end : 0;
}

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

TextPattern TextPattern::literal(std::string text) { return TextPattern(std::move(text)); }

TextPattern TextPattern::regex(std::string_view expression) {
  TextPattern p{std::string(expression)};
  RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  options.set_max_mem(max_memory);
  for (const std::string& text : re2_alternatives(expression)) {
    std::shared_ptr<RE2> re;
    if (!text.empty()) {
      re = std::make_shared<RE2>(text, options);
      if (!re->ok())
        fail("regular expression {}: {}", quote(expression),
             printable(std::string_view(re->error()).substr(0, 200)));
      if (RE2::FullMatch("", *re))
        fail("regular expression {} matches the empty text", quote(expression));
    }
    p.alternatives_.push_back(std::move(re));
  }
  if (p.alternatives_.empty())
    fail("regular expression {} matches the empty text", quote(expression));
  return p;
}

std::size_t TextPattern::match_at(std::string_view text, std::size_t at) const {
  for (const auto& re : alternatives_) {
    if (!re) {
      if (const std::size_t end = spaces_before_last(text, at)) return end;
      continue;
    }
    re2::StringPiece found;
    if (re->Match(piece(text), at, text.size(), RE2::ANCHOR_START, &found, 1))
      return at + found.size();
  }
  return 0;
}

std::optional<TextPattern::Match> TextPattern::find(std::string_view text, std::size_t from) const {
  if (is_literal()) {
    const std::size_t at = source_.empty() ? std::string_view::npos : text.find(source_, from);
    if (at == std::string_view::npos) return std::nullopt;
    return Match{at, at + source_.size()};
  }
  for (std::size_t at = from; at < text.size(); next_code_point(text, at)) {
    if (const std::size_t end = match_at(text, at)) return Match{at, end};
    if (alternatives_.size() > 1 || !alternatives_[0]) continue;
    re2::StringPiece found;
    if (!alternatives_[0]->Match(piece(text), at, text.size(), RE2::UNANCHORED, &found, 1))
      return std::nullopt;
    const auto begin = static_cast<std::size_t>(found.data() - text.data());
    return Match{begin, begin + found.size()};
  }
  return std::nullopt;
}

bool TextPattern::breaks_at_lines() const {
  // In these, what matches a letter matches no line feed after it.
  constexpr std::string_view known[] = {
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
  return std::ranges::count(known, source_) > 0;
}

}  // namespace sten
