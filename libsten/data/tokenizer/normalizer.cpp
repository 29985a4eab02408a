// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/normalizer.h"

#include <algorithm>

#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/unicode.h"

namespace sten {
namespace {

struct Normalize {
  std::string_view text;

  std::string operator()(const BertTextOptions& o) const { return bert_normalized(text, o); }
  std::string operator()(const UnicodeForm& form) const { return in_form(text, form); }
  std::string operator()(const Lowercase&) const {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) append_lower(next_code_point(text, i), out);
    return out;
  }
  std::string operator()(const StripAccents&) const {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t begin = i;
      if (!is_combining_mark(next_code_point(text, i))) out.append(text, begin, i - begin);
    }
    return out;
  }
  std::string operator()(const StripSpaces& sides) const {
    std::string_view rest = text;
    if (sides.left) rest.remove_prefix(spaces_at_begin(rest));
    if (sides.right) rest.remove_suffix(spaces_at_end(rest));
    return std::string(rest);
  }
  std::string operator()(const PrependText& p) const {
    return text.empty() ? std::string() : p.text + std::string(text);
  }
  std::string operator()(const ReplaceText& change) const { return replaced(text, change); }
  std::string operator()(const SingleSpaces& spaces) const {
    std::string out;
    out.reserve(text.size());
    for (const char c : text)
      if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
    const std::string& last = spaces.also_at_end;
    while (out.ends_with(' ') || (!last.empty() && out.ends_with(last)))
      out.resize(out.size() - (out.back() == ' ' ? 1 : last.size()));
    return out;
  }
  std::string operator()(const std::shared_ptr<const CharacterMap>& map) const {
    return (*map)(text);
  }
};

}  // namespace

std::string replaced(std::string_view text, const ReplaceText& change) {
  std::string out;
  out.reserve(text.size());
  std::size_t begin = 0;
  while (const auto found = change.pattern.find(text, begin)) {
    out.append(text, begin, found->begin - begin).append(change.with);
    begin = found->end;
  }
  return out.append(text, begin);
}

std::string_view Normalizer::operator()(std::string_view text, std::string& buffer) const {
  for (const NormalizerStep& step : steps_) {
    buffer = std::visit(Normalize{text}, step);
    text = buffer;
  }
  return text;
}

bool Normalizer::breaks_at_lines() const {
  return std::ranges::all_of(steps_, [](const NormalizerStep& step) {
    if (std::holds_alternative<StripSpaces>(step) || std::holds_alternative<PrependText>(step) ||
        std::holds_alternative<SingleSpaces>(step) ||
        std::holds_alternative<std::shared_ptr<const CharacterMap>>(step))
      return false;
    const auto* change = std::get_if<ReplaceText>(&step);
    return !change || (change->pattern.is_literal() &&
                       change->pattern.source().find('\n') == std::string::npos);
  });
}

}  // namespace sten
