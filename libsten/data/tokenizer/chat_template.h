// SPDX-License-Identifier: Apache-2.0
// Chat templates: messages to the prompt of a chat model, by the model's own Jinja template.
#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/core/base/json_reader.h"
#include "libsten/data/jinja/jinja_template.h"

namespace sten {

struct ChatMessage {
  std::string role;  // system, user or assistant
  std::string content;
};

// The messages of a list of {"role", "content"}. Error with the element for other keys or roles, and
// for an empty list.
std::vector<ChatMessage> chat_messages(const JsonReader& list);

// What a template uses of its model.
struct ChatTemplateSource {
  std::string jinja{};                          // the text of the template
  std::string name{};                           // printable, for messages
  std::map<std::string, std::string> tokens{};  // special tokens by variable, such as bos_token

  // Reads chat_template.jinja, or else chat_template of tokenizer_config.json, in the directory of a
  // tokenizer or of its file, and the special tokens of the latter and of special_tokens_map.json;
  // or those in the metadata of a GGUF file. None without a template. Error (input) with the file.
  static std::optional<ChatTemplateSource> read(const std::string& tokenizer);
};

class ChatTemplate {
 public:
  // Error (usage) for a template with syntax that jinja_template.h does not support.
  explicit ChatTemplate(const ChatTemplateSource& source);

  // The prompt for the next message of the assistant, with special tokens as text: equal to
  // apply_chat_template(messages, add_generation_prompt=True) of transformers. Error (usage) for
  // messages that the template refuses.
  std::string prompt(std::span<const ChatMessage> messages) const;
  // The messages alone, as with add_generation_prompt=False; errors as prompt().
  std::string conversation(std::span<const ChatMessage> messages) const;

 private:
  std::string rendered(std::span<const ChatMessage> messages, bool add_generation_prompt) const;

  std::map<std::string, std::string> tokens_;
  JinjaTemplate template_;
};

}  // namespace sten
