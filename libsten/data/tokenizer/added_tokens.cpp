// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/added_tokens.h"

#include <algorithm>

#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/unicode.h"

namespace sten {
namespace {

// Whether a word character is before or after a part of the text.
bool is_within_word(std::string_view text, std::size_t begin, std::size_t end) {
  const auto is_word = [&](std::size_t at) { return is_word_character(next_code_point(text, at)); };
  return (begin > 0 && is_word(last_character(text.substr(0, begin)))) ||
         (end < text.size() && is_word(end));
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> all) : all_(std::move(all)) {
  std::erase_if(all_, [](const AddedToken& t) { return t.content.empty(); });
  for (std::size_t i = 0; i < all_.size(); ++i) {
    by_text_.add(all_[i].content, static_cast<std::int32_t>(i));
    begins_[static_cast<unsigned char>(all_[i].content[0])] = true;
  }
  by_text_.sort();
}

const AddedToken* AddedTokens::at(std::string_view text) const {
  const LongestPrefix::Match m = by_text_.find(text);
  return m.bytes > 0 ? &all_[static_cast<std::size_t>(m.value)] : nullptr;
}

void AddedTokens::split(std::string_view text, const std::function<void(std::string_view)>& part,
                        const std::function<void(TokenId)>& token) const {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    const AddedToken* t =
        begins_[static_cast<unsigned char>(text[i])] ? at(text.substr(i)) : nullptr;
    if (!t) {
      ++i;
      continue;
    }
    if (t->single_word && is_within_word(text, i, i + t->content.size())) {
      i += t->content.size();
      continue;
    }
    // As in Hugging Face's tokenizers, the next token may begin within the white space that rstrip
    // added to this one; the text then continues after that token.
    const std::size_t end = i + t->content.size();
    if (t->lstrip && i > begin) i -= spaces_at_end(text.substr(begin, i - begin));
    if (i > begin) part(text.substr(begin, i - begin));
    token(t->id);
    begin = end + (t->rstrip ? spaces_at_begin(text.substr(end)) : 0);
    i = end;
  }
  if (begin < text.size()) part(text.substr(begin));
}

bool AddedTokens::end_with_lines() const {
  return std::ranges::none_of(all_, [](const AddedToken& t) {
    return t.lstrip || t.rstrip || t.content.find('\n') != std::string::npos;
  });
}

}  // namespace sten
