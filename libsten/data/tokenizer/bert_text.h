// SPDX-License-Identifier: Apache-2.0
// Normalization and word splitting of BERT (Devlin et al. 2019; BertNormalizer and BertPreTokenizer
// of Hugging Face's tokenizers).
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace sten {

struct BertTextOptions {
  bool clean_text = true;        // removes control characters, makes white space blanks
  bool space_ideographs = true;  // blanks around Chinese characters
  bool strip_accents = true;     // decomposes, and removes nonspacing marks
  bool lowercase = true;
};

// Normalizes UTF-8.
std::string bert_normalized(std::string_view text, const BertTextOptions& options);
// Calls f for words in order: text between white space, and each punctuation character.
void for_bert_words(std::string_view text, const std::function<void(std::string_view)>& word);

}  // namespace sten
