// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/byte_pair_encoding.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/byte_level.h"
#include "libsten/data/tokenizer/merge_subwords.h"
#include "libsten/data/tokenizer/unicode.h"

namespace sten {

BytePairEncoding::BytePairEncoding(const SubwordVocabulary& subwords, MergeRanks ranks,
                                   BytePairOptions options)
    : file_(subwords.file()), ranks_(std::move(ranks)), options_(options) {
  fallback_ids_.fill(-1);
  if (options.byte_fallback) fallback_ids_ = subwords.byte_ids();
  first_ids_.fill(-1);
  if (!options.byte_level && !options.ignore_merges) adjacent_ = std::make_unique<Adjacent>();
  take_subwords(subwords);
}

void BytePairEncoding::take_subwords(const SubwordVocabulary& subwords) {
  if (options_.byte_level)
    for (std::size_t b = 0; b < 256; ++b) {
      std::string character;
      append_utf8(byte_characters()[b], character);
      first_ids_[b] = subwords.find(character).value_or(-1);
    }
  for (TokenId id = 0; id < subwords.size(); ++id) {
    if (!subwords.has(id)) continue;
    const std::string_view entry = subwords.entry(id);
    if (options_.ignore_merges) {
      if (!options_.byte_level)
        words_.emplace(entry, id);
      else if (const auto bytes = bytes_of(entry))
        words_.emplace(*bytes, id);
    }
    if (options_.byte_level) continue;
    std::int32_t last = -1;
    for (std::size_t i = 0; i < entry.size();) {
      const bool is_start = i == 0;
      const std::int32_t c = next_code_point(entry, i);
      if (is_start && i == entry.size() && c >= 128) character_ids_.emplace(c, id);
      if (is_start && i == entry.size() && c < 128) first_ids_[static_cast<std::size_t>(c)] = id;
      if (last >= 0 && adjacent_) adjacent_->set(adjacent_index(last, c));
      last = c;
    }
  }
}

std::size_t BytePairEncoding::adjacent_index(std::int32_t a, std::int32_t b) {
  const auto both = static_cast<std::uint64_t>(a) << 21 | static_cast<std::uint64_t>(b);
  return both * 0x9e3779b97f4a7c15u >> 44;
}

void BytePairEncoding::add_merge(const SubwordVocabulary& subwords, std::string_view a,
                                 std::string_view b, std::int32_t rank, const std::string& place,
                                 MergeRanks& ranks) {
  const std::string both = std::string(a) + std::string(b);
  const auto first = subwords.find(a), second = subwords.find(b), merged = subwords.find(both);
  const auto name = [&] { return quote(std::string(a) + " " + std::string(b)); };
  if (!first || !second || !merged)
    fail("{}: merge {}: {} is not in {}", place, name(),
         quote(!first    ? a
               : !second ? b
                         : std::string_view(both)),
         subwords.file());
  if (!ranks.add(*first, *second, {rank, *merged}))
    fail("{}: merge {} occurs twice", place, name());
}

TokenId BytePairEncoding::id_of(std::int32_t character) const {
  if (character < 128) return first_ids_[static_cast<std::size_t>(character)];
  const auto at = character_ids_.find(character);
  return at == character_ids_.end() ? -1 : at->second;
}

void BytePairEncoding::append(std::string_view word, std::vector<TokenId>& out) const {
  if (options_.ignore_merges)
    if (const auto at = words_.find(word); at != words_.end()) return out.push_back(at->second);
  const std::size_t before = out.size();
  if (options_.byte_level && !options_.unknown) {
    for (const char c : word) {
      const auto byte = static_cast<unsigned char>(c);
      if (first_ids_[byte] < 0) fail("{}: missing subword for the byte {:#04x}", file_, byte);
      out.push_back(first_ids_[byte]);
    }
  } else {
    append_characters(word, out);
  }
  merge_subwords(ranks_, before, out);
}

void BytePairEncoding::append_characters(std::string_view word, std::vector<TokenId>& out) const {
  // An unknown character is written late, as in Hugging Face's tokenizers: before the next known
  // one, but after bytes of byte_fallback.
  bool is_unknown = false;
  const auto write_unknown = [&] {
    if (is_unknown) out.push_back(*options_.unknown);
    is_unknown = false;
  };
  for (std::size_t i = 0; i < word.size();) {
    const std::size_t begin = i;
    const TokenId id = options_.byte_level ? first_ids_[static_cast<unsigned char>(word[i++])]
                                           : id_of(next_code_point(word, i));
    if (id >= 0) {
      write_unknown();
      out.push_back(id);
      continue;
    }
    const std::string_view bytes = word.substr(begin, i - begin);
    const auto fallback = [&](char c) { return fallback_ids_[static_cast<unsigned char>(c)]; };
    if (options_.byte_fallback &&
        std::ranges::all_of(bytes, [&](char c) { return fallback(c) >= 0; })) {
      for (const char c : bytes) out.push_back(fallback(c));
      continue;
    }
    if (!options_.unknown) fail("{}: missing subword for {}", file_, quote(bytes));
    if (!options_.fuse_unknown) write_unknown();
    is_unknown = true;
  }
  write_unknown();
}

void BytePairEncoding::for_chunks(std::string_view word,
                                  const std::function<void(std::string_view)>& chunk) const {
  if (!adjacent_) return chunk(word);
  std::size_t begin = 0;
  std::int32_t last = -1;
  for (std::size_t i = 0; i < word.size();) {
    const std::size_t at = i;
    std::int32_t c = next_code_point(word, i);
    // Unknown characters stay with their neighbours; see append_characters().
    if (id_of(c) < 0) c = -1;
    if (last >= 0 && c >= 0 && !adjacent_->test(adjacent_index(last, c))) {
      chunk(word.substr(begin, at - begin));
      begin = at;
    }
    last = c;
  }
  chunk(word.substr(begin));
}

}  // namespace sten
