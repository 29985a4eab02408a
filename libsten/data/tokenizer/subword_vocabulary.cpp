// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/subword_vocabulary.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {

void SubwordVocabulary::add(std::string subword, TokenId id, const std::string& place) {
  if (id < 0 || id > max_id_)
    fail("{}: {}id of {} is {}: expected 0 to {} for a file of this size", file_, place,
         quote(subword), id, max_id_);
  if (const auto old = find(subword))
    fail("{}: {}{} occurs twice, with the ids {} and {}", file_, place, quote(subword), *old, id);
  if (has(id))
    fail("{}: {}{} and {} both have the id {}", file_, place, quote(entry(id)), quote(subword), id);
  const auto at = static_cast<std::size_t>(id);
  if (at >= entries_.size()) {
    entries_.resize(at + 1);
    is_used_.resize(at + 1);
    is_added_.resize(at + 1);
  }
  entries_[at] = subword;
  is_used_[at] = true;
  ids_.emplace(std::move(subword), id);
}

void SubwordVocabulary::ensure(const std::string& subword, TokenId id, const std::string& place) {
  if (find(subword) == id) return;
  add(subword, id, place);
  is_added_[static_cast<std::size_t>(id)] = true;
}

std::optional<TokenId> SubwordVocabulary::find(std::string_view subword) const {
  const auto at = ids_.find(subword);
  if (at == ids_.end()) return std::nullopt;
  return at->second;
}

std::string_view SubwordVocabulary::entry(TokenId id) const {
  return has(id) ? std::string_view(entries_[static_cast<std::size_t>(id)]) : std::string_view();
}

std::array<TokenId, 256> SubwordVocabulary::byte_ids() const {
  std::array<TokenId, 256> all;
  for (std::size_t b = 0; b < 256; ++b) all[b] = find(fmt::format("<0x{:02X}>", b)).value_or(-1);
  return all;
}

}  // namespace sten
