// SPDX-License-Identifier: Apache-2.0
// Text of tokens that come one by one, as of text generation.
#pragma once
#include "libsten/data/tokenizer/tokenizer.h"

namespace sten {

class GeneratedText {
 public:
  // `before`: the tokens that the generated ones follow, on which their text may depend. `stops`:
  // texts that end the generation, not empty; they may span tokens.
  GeneratedText(const Tokenizer& tokenizer, std::span<const std::int64_t> before,
                std::vector<std::string> stops = {});

  // Adds a token. Returns the text that can be printed: whole characters, without a stop text and
  // without an end that may become one.
  std::string add(TokenId token);
  // The rest, after the last token: incomplete characters are U+FFFD.
  std::string finish();
  // Whether a stop text was found; later tokens add no text.
  bool is_stopped() const { return is_stopped_; }

 private:
  std::string new_text() const;
  std::string until_stop(const std::string& text);

  const Tokenizer& tokenizer_;
  std::vector<std::string> stops_;
  // The last tokens: the text of the first done_ ones has been returned or is pending.
  std::vector<TokenId> tokens_;
  std::size_t done_;
  std::string pending_;  // may be the start of a stop text
  bool is_stopped_ = false;
};

}  // namespace sten
