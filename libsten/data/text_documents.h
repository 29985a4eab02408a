// SPDX-License-Identifier: Apache-2.0
// Documents of causal language models, packed into one sequence of tokens.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libsten/data/tokenizer/tokenizer.h"

namespace sten {

struct PackedDocuments {
  Array<TokenId> tokens;
  // Same size: the tokens as labels; ignored_label where the loss does not count them.
  Array<TokenId> targets;
  // Ranges [begin, end) of tokens that a split does not divide, ascending: documents of JSON Lines.
  std::vector<std::pair<Index, Index>> indivisible;

  // `token`, or the nearest end of the indivisible range around it; of two, the later one.
  Index boundary(Index token) const;
  // The number of tokens [begin, end) that the loss counts.
  Index counted(Index begin, Index end) const;
};

struct DocumentOptions {
  std::string vocabulary;             // path of the tokenizer, beside which the chat template is
  bool completion_only_loss = false;  // count tokens of completions and assistant messages only
};

// Reads documents from files, in their order. A file with the ending .jsonl has one per line, all of
// one kind:
//   {"text": TEXT}                          as Tokenizer::sequence(), then the end token
//   {"prompt": TEXT, "completion": TEXT}    both as one text, then the end token. A token with
//                                           characters of both belongs to the completion
//   {"messages": [{"role", "content"}...]}  as ChatTemplate::conversation(), without further tokens.
//                                           An assistant message begins after the prompt for it, and
//                                           ends with the last end token in it, if it has one
// Other keys are ignored. Another file is one document, as Tokenizer::encode(); the end token
// separates it from another file after it.
// Error with FILE, or FILE: line N, for lines that are not such JSON, mixed kinds, no lines, texts
// that the tokenizer refuses, a file of which more than half of the tokens are unknown, a missing
// end token or chat template, messages that the template refuses and, with completion_only_loss,
// documents without completions, or templates that render messages otherwise when others follow.
PackedDocuments read_documents(std::span<const std::string> files, const Tokenizer& tokenizer,
                               const DocumentOptions& options);

// Error if more than half of `all` tokens are unknown; `text`, `vocabulary`: paths for the message.
void check_known(Index unknown, Index all, const std::string& text, const std::string& vocabulary);
// The same for the ids of a text, if the tokenizer has an unknown token of its own.
void check_known(std::span<const TokenId> ids, const Tokenizer& tokenizer, const std::string& text,
                 const std::string& vocabulary);

}  // namespace sten
