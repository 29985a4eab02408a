// SPDX-License-Identifier: Apache-2.0
// Unique subwords and their ids.
#pragma once
#include <array>
#include <unordered_map>

#include "libsten/data/tokenizer/tokenizer.h"

namespace sten {

class SubwordVocabulary {
 public:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  using Ids = std::unordered_map<std::string, TokenId, Hash, std::equal_to<>>;

  // `bytes`: size of the file, which bounds ids; see max_id_of().
  SubwordVocabulary(std::string file, std::size_t bytes)
      : file_(std::move(file)), max_id_(max_id_of(bytes)) {}

  // Error with `place` if the subword or id exists, or the id is out of range.
  void add(std::string subword, TokenId id, const std::string& place);
  // As add(), of an added token, unless the subword has that id.
  void ensure(const std::string& subword, TokenId id, const std::string& place);
  std::optional<TokenId> find(std::string_view subword) const;
  std::string_view entry(TokenId id) const;
  bool has(TokenId id) const { return id >= 0 && id < size() && is_used_[id]; }
  // Whether words can be split into this subword: it is not only an added token.
  bool is_in_model(TokenId id) const { return has(id) && !is_added_[id]; }
  Index size() const { return std::ssize(entries_); }
  const std::string& file() const { return file_; }
  // The ids of "<0x00>" to "<0xFF>", which stand for bytes; -1 for missing ones.
  std::array<TokenId, 256> byte_ids() const;

 private:
  std::string file_;
  TokenId max_id_;
  std::vector<std::string> entries_;
  std::vector<bool> is_used_, is_added_;
  Ids ids_;
};

}  // namespace sten
