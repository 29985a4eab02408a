#include "libsten/data/tokenizer/added_tokens.h"

#include <algorithm>

#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/unicode.h"

namespace sten {
namespace {

// Bytes of white space at the end of the text, from `from` on.
std::size_t spaces_at_end(std::string_view text, std::size_t from) {
  std::size_t end = text.size();
  while (end > from) {
    std::size_t begin = end - 1;
    while (begin > from && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
    std::size_t i = begin;
    if (!is_space(next_code_point(text, i)) || i != end) break;
    end = begin;
  }
  return text.size() - end;
}

std::size_t spaces_at_begin(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < text.size() && is_space(next_code_point(text, i));) end = i;
  return end;
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
    const std::size_t end = i + t->content.size() +
                            (t->rstrip ? spaces_at_begin(text.substr(i + t->content.size())) : 0);
    if (t->lstrip) i -= spaces_at_end(text.substr(0, i), begin);
    if (i > begin) part(text.substr(begin, i - begin));
    token(t->id);
    begin = i = end;
  }
  if (begin < text.size()) part(text.substr(begin));
}

bool AddedTokens::end_with_lines() const {
  return std::ranges::none_of(all_, [](const AddedToken& t) {
    return t.lstrip || t.rstrip || t.content.find('\n') != std::string::npos;
  });
}

}  // namespace sten
