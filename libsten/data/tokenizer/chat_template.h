// Chat templates: messages to the prompt of a chat model, in the formats of common models. The
// format is recognised by its markers in the model's Jinja template, which is not executed.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sten {

struct ChatMessage {
  std::string role;  // system, user or assistant
  std::string content;
};

// What a template uses of its model.
struct ChatTemplateSource {
  std::string jinja{};       // the text of the template
  std::string name{};        // printable, for messages
  std::string bos{}, eos{};  // the texts of the special tokens; empty: none

  // Reads chat_template.jinja, or else chat_template of tokenizer_config.json, in the directory of a
  // tokenizer or of its file, and the special tokens of the latter; or those in the metadata of a
  // GGUF file. None without a template. Error (input) with the file.
  static std::optional<ChatTemplateSource> read(const std::string& tokenizer);
};

class ChatTemplate {
 public:
  // Error (usage) for a template in none of the formats.
  explicit ChatTemplate(ChatTemplateSource source);

  // "ChatML", "Llama 2", "Llama 3", "Gemma", "Mistral", "Phi-3" or "Zephyr".
  std::string_view format() const;
  // The prompt for the next message of the assistant, with special tokens as text: equal to
  // apply_chat_template(messages, add_generation_prompt=True) of transformers. Error (usage) for
  // messages that the template does not support.
  std::string prompt(std::span<const ChatMessage> messages) const;

 private:
  ChatTemplateSource source_;
  std::size_t format_;  // index of a row of a table
};

}  // namespace sten
