// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/word_piece.h"

#include <algorithm>

namespace sten {
namespace {

bool is_within_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

// As Hugging Face's WordPiece decoder.
void clean_up(std::string& s) {
  constexpr std::pair<std::string_view, std::string_view> changes[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : changes) {
    std::string out;
    std::size_t begin = 0, at = 0;
    for (; (at = s.find(from, begin)) != std::string::npos; begin = at + from.size())
      out.append(s, begin, at - begin).append(to);
    if (begin > 0) s = out.append(s, begin);
  }
}

}  // namespace

WordPiece::WordPiece(SubwordVocabulary all, SubwordOptions common, WordPieceOptions options)
    : SubwordTokenizer(std::move(all), std::move(common)), options_(std::move(options)) {
  for (TokenId id = 0; id < size(); ++id) {
    if (!subwords().is_in_model(id)) continue;
    std::string_view subword = subwords().entry(id);
    first_.add(subword, id);
    if (!subword.starts_with(options_.continuation)) continue;
    subword.remove_prefix(options_.continuation.size());
    next_.add(subword, id);
  }
  first_.sort();
  next_.sort();
  take_added();
}

std::string_view WordPiece::normalized(std::string_view text, std::string& buffer) const {
  return buffer = bert_normalized(text, options_.text);
}

void WordPiece::append(std::string_view text, bool, SubwordCache& cache,
                       std::vector<TokenId>& out) const {
  const auto compute = [this](std::string_view word, std::vector<TokenId>& to) {
    append_word(word, to);
  };
  for_bert_words(text, [&](std::string_view word) { cache.append(word, out, compute); });
}

void WordPiece::append_word(std::string_view word, std::vector<TokenId>& out) const {
  const auto characters = std::ranges::count_if(word, std::not_fn(is_within_character));
  const std::size_t before = out.size();
  const auto unknown = [&] {
    out.resize(before);
    out.push_back(options_.unknown);
  };
  if (characters > options_.longest) return unknown();
  for (std::size_t begin = 0; begin < word.size();) {
    const LongestPrefix::Match found = (begin == 0 ? first_ : next_).find(word.substr(begin));
    if (found.bytes == 0) return unknown();
    out.push_back(found.value);
    begin += found.bytes;
  }
}

std::string WordPiece::decode(std::span<const TokenId> ids) const {
  std::string text;
  bool is_first = true;
  for (const TokenId id : ids) {
    if (!subwords().has(id) || is_special(id)) continue;
    std::string subword(shown(id));
    const bool goes_on = subword.starts_with(options_.continuation);
    if (!is_first && goes_on) subword.erase(0, options_.continuation.size());
    if (!is_first && !goes_on) subword.insert(0, 1, ' ');
    is_first = false;
    if (options_.cleanup) clean_up(subword);
    text += subword;
  }
  return text;
}

}  // namespace sten
