// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/tokenizer.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/files/system/data_file.h"

namespace sten {

TokenId max_id_of(std::size_t bytes) {
  return static_cast<TokenId>(std::min<std::size_t>(max_token_id, 65535 + bytes / 4));
}

TokenId Tokenizer::need(const std::optional<TokenId>& id, std::string_view token) const {
  if (!id) fail("{}: missing {}", name_, token);
  return *id;
}

TokenSequence Tokenizer::sequence(std::span<const TokenId> a, const std::span<const TokenId>* b,
                                  Index most) const {
  TokenSequence s{{a.begin(), a.end()}, {}};
  if (b) s.ids.insert(s.ids.end(), b->begin(), b->end());
  if (std::ssize(s.ids) > most) s.ids.resize(static_cast<std::size_t>(most));
  s.types.assign(s.ids.size(), 0);
  return s;
}

Array<TokenId> read_text(const std::string& path, const Tokenizer& tokenizer) {
  const MappedFile file = open_data(path);
  Array<TokenId> ids = tokenizer.encode(text_of(file.bytes()), path);
  file.check_unchanged();
  return ids;
}

std::string place_of(std::string_view text, std::size_t at) {
  const auto lines = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  return fmt::format("line {}, byte {} of the file", lines + 1, at + 1);
}

}  // namespace sten
