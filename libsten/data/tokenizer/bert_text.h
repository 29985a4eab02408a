// Text as BERT has it before it is cut into pieces (Devlin et al. 2019; BertNormalizer and
// BertPreTokenizer of HuggingFace's tokenizers).
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace sten {

struct BertTextOptions {
  bool clean_text = true;        // controls go, white space becomes blanks
  bool space_ideographs = true;  // blanks around Chinese characters
  bool strip_accents = true;     // decomposes, and leaves nonspacing marks out
  bool lowercase = true;
};

// Of UTF-8.
std::string bert_normalized(std::string_view text, const BertTextOptions& options);
// In order: what white space separates, and each character of punctuation.
void for_bert_words(std::string_view text, const std::function<void(std::string_view)>& word);

}  // namespace sten
