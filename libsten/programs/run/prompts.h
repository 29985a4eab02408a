// SPDX-License-Identifier: Apache-2.0
// Prompts of text generation.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "libsten/core/base/json.h"
#include "libsten/data/tokenizer/tokenizer.h"

namespace sten {

// Exactly one of the sources.
struct PromptOptions {
  std::optional<std::string> text{};  // the prompt
  std::string file{};                 // a file with the prompt; "-": standard input
  std::string list{};                 // JSON Lines {"prompt": TEXT, ...}; "-": standard input
  // Messages [{"role", "content"}, ...]: JSON, a .json file, or a .jsonl file of such lists.
  std::string chat{};
  bool raw = false;  // of a chat: sends the contents of the messages, one per line

  bool is_given() const;
  // Whether the output is JSON Lines.
  bool is_list() const { return !list.empty() || chat.ends_with(".jsonl"); }
};

struct Prompt {
  std::string text;
  std::string name;               // its option, or the line of a file; for messages
  std::vector<std::int64_t> ids;  // with the special tokens of the tokenizer or of the template
  nlohmann::ordered_json line{};  // the object of its line; null for other prompts
};

// Reads the prompts. `tokenizer_file`: of the model, for its chat template. Error (usage) without a
// prompt, for an empty one, an unknown chat template, and a character without an id; Error (input)
// with the file and the line for other contents.
std::vector<Prompt> read_prompts(const PromptOptions& options, const Tokenizer& tokenizer,
                                 const std::string& tokenizer_file);

}  // namespace sten
