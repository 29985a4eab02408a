// Tokens that are found literally, before a text is cut into words: [MASK], <|endoftext|>.
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
  bool special = false;                 // left out of decoded text
  bool normalized = false;              // found in the normalized text, else in the original text
  bool lstrip = false, rstrip = false;  // takes the white space before or after it along
};

class AddedTokens {
 public:
  AddedTokens() = default;
  explicit AddedTokens(std::vector<AddedToken> all);
  AddedTokens(AddedTokens&&) = default;
  AddedTokens& operator=(AddedTokens&&) = default;

  bool empty() const { return all_.empty(); }
  // In order: text(part) for what lies between tokens, if anything, and token(id). Of tokens that
  // begin at one place the longest is found.
  void split(std::string_view text, const std::function<void(std::string_view)>& part,
             const std::function<void(TokenId)>& token) const;
  // Whether a text may be cut where white space begins with a line feed.
  bool end_with_lines() const;

 private:
  const AddedToken* at(std::string_view text) const;

  std::vector<AddedToken> all_;
  LongestPrefix by_text_;  // numbers of all_
  std::array<bool, 256> begins_{};
};

}  // namespace sten
