// SPDX-License-Identifier: Apache-2.0
// Added tokens: found literally before a text is split into words, as [MASK] and <|endoftext|>.
#pragma once
#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/data/tokenizer/longest_prefix.h"
#include "libsten/data/tokenizer/tokenizer.h"

namespace sten {

struct AddedToken {
  std::string content;
  TokenId id = 0;
  bool special = false;                 // omitted from decoded text
  bool normalized = false;              // found in the normalized text, otherwise in the original
  bool lstrip = false, rstrip = false;  // also matches white space before or after
  bool single_word = false;             // only without a word character before and after
  bool is_normal_form = false;          // the content is not normalized before it is searched for
};

class AddedTokens {
 public:
  AddedTokens() = default;
  explicit AddedTokens(std::vector<AddedToken> all);
  AddedTokens(AddedTokens&&) = default;
  AddedTokens& operator=(AddedTokens&&) = default;

  bool empty() const { return all_.empty(); }
  // Calls text(part) for nonempty text between tokens, and token(id) for tokens, in order. The
  // longest token at a position is found.
  void split(std::string_view text, const std::function<void(std::string_view)>& part,
             const std::function<void(TokenId)>& token) const;
  // Whether a text can be split at white space that starts with a line feed.
  bool end_with_lines() const;

 private:
  const AddedToken* at(std::string_view text) const;

  std::vector<AddedToken> all_;
  LongestPrefix by_text_;  // indices of all_
  std::array<bool, 256> begins_{};
};

}  // namespace sten
