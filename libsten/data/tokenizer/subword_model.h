// SPDX-License-Identifier: Apache-2.0
// Models that split a word into subwords: BPE and Unigram.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "libsten/data/tokenizer/tokenizer.h"

namespace sten {

class SubwordModel {
 public:
  virtual ~SubwordModel() = default;

  // "BPE", "byte-level BPE" or "Unigram".
  virtual std::string_view kind() const = 0;
  // Appends the ids of a word that is not empty. Error if a character has neither an id nor the id
  // of unknown ones.
  virtual void append(std::string_view word, std::vector<TokenId>& out) const = 0;
  // Calls chunk(part) for parts of a word whose ids, one after the other, are those of the word.
  // A part can be encoded with append().
  virtual void for_chunks(std::string_view word,
                          const std::function<void(std::string_view)>& chunk) const {
    chunk(word);
  }
};

}  // namespace sten
