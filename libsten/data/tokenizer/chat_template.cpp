// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/chat_template.h"

#include <filesystem>

#include "libsten/core/base/json_reader.h"
#include "libsten/core/base/text.h"
#include "libsten/files/gguf/tokenizer_json.h"
#include "libsten/files/system/data_file.h"

namespace sten {
namespace {

using Source = ChatTemplateSource;

// Adds special tokens that `to` lacks: a text each, or an added token {"content": text}.
void add_tokens(const JsonReader& config, std::map<std::string, std::string>& to) {
  for (const char* key : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token",
                          "cls_token", "mask_token"}) {
    if (!config.has(key) || config[key].json().is_null()) continue;
    const JsonReader token = config[key];
    to.emplace(key, token.json().is_object() ? token["content"].text() : token.text());
  }
}

// A text, or a list of named templates.
std::string jinja_of(const JsonReader& config) {
  if (!config.has("chat_template") || config["chat_template"].json().is_null()) return "";
  const JsonReader given = config["chat_template"];
  if (!given.json().is_array()) return given.text();
  for (const JsonReader& named : given.elements())
    if (named["name"].text() == "default") return named["template"].text();
  return "";
}

}  // namespace

std::optional<ChatTemplateSource> ChatTemplateSource::read(const std::string& tokenizer) {
  namespace fs = std::filesystem;
  const auto of_config = [](std::string_view text, const std::string& name) -> Source {
    const auto json = parse_json(text, name, Fault::input);
    const JsonReader reader(json, name, Fault::input);
    Source s{jinja_of(reader), name};
    add_tokens(reader, s.tokens);
    return s;
  };
  const bool is_directory = fs::is_directory(tokenizer);
  if (!is_directory && fs::is_regular_file(tokenizer)) {
    const MappedFile file = open_data(tokenizer);
    const std::string name = printable(tokenizer);
    if (is_gguf(file.bytes())) {
      Source s = of_config(gguf_tokenizer_config_json(parse_gguf(file.bytes(), name), name), name);
      return s.jinja.empty() ? std::nullopt : std::optional(std::move(s));
    }
  }
  const fs::path directory = is_directory ? fs::path(tokenizer) : fs::path(tokenizer).parent_path();
  const std::string config = (directory / "tokenizer_config.json").string(),
                    tokens = (directory / "special_tokens_map.json").string(),
                    own = (directory / "chat_template.jinja").string();
  Source s;
  if (fs::is_regular_file(config)) {
    const MappedFile file = open_data(config);
    s = of_config(text_of(file.bytes()), printable(config));
  }
  if (fs::is_regular_file(tokens)) {
    const MappedFile file = open_data(tokens);
    const std::string name = printable(tokens);
    const auto json = parse_json(text_of(file.bytes()), name, Fault::input);
    add_tokens(JsonReader(json, name, Fault::input), s.tokens);
  }
  if (fs::is_regular_file(own)) {
    s.jinja = std::string(text_of(open_data(own).bytes()));
    s.name = printable(own);
  }
  if (s.jinja.empty()) return {};
  return s;
}

std::vector<ChatMessage> chat_messages(const JsonReader& list) {
  std::vector<ChatMessage> all;
  for (const JsonReader& m : list.elements()) {
    m.check_keys({"role", "content"});
    all.push_back({m["role"].text(), m["content"].text()});
    const std::string& role = all.back().role;
    if (role != "system" && role != "user" && role != "assistant")
      m["role"].fail(fmt::format("expected system, user or assistant, got {}", quote(role)));
  }
  if (all.empty()) list.fail("expected at least one message");
  return all;
}

ChatTemplate::ChatTemplate(const ChatTemplateSource& source)
    : tokens_(source.tokens), template_(source.jinja, source.name) {}

std::string ChatTemplate::prompt(std::span<const ChatMessage> messages) const {
  return rendered(messages, true);
}

std::string ChatTemplate::conversation(std::span<const ChatMessage> messages) const {
  return rendered(messages, false);
}

std::string ChatTemplate::rendered(std::span<const ChatMessage> messages,
                                   bool add_generation_prompt) const {
  if (messages.empty()) fail_usage("expected at least one message");
  nlohmann::ordered_json variables{{"add_generation_prompt", add_generation_prompt},
                                   {"messages", nlohmann::ordered_json::array()},
                                   {"tools", nullptr},
                                   {"documents", nullptr}};
  for (const ChatMessage& m : messages)
    variables["messages"].push_back({{"role", m.role}, {"content", m.content}});
  for (const auto& [variable, text] : tokens_)
    if (!text.empty()) variables[variable] = text;
  return template_.render(variables);
}

}  // namespace sten
