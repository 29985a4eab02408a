// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/run/prompts.h"

#include <algorithm>

#include "libsten/core/base/json_reader.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/utf8.h"
#include "libsten/data/json_lines.h"
#include "libsten/data/tokenizer/chat_template.h"
#include "libsten/files/system/data_file.h"
#include "libsten/files/system/spool.h"

namespace sten {
namespace {

using Json = nlohmann::ordered_json;

std::string shown(const char* option, const std::string& file) {
  return fmt::format("{} {}", option, printable(file));
}

std::string text_in(const std::string& file) {
  return std::string(text_of(open_input(file).bytes()));
}

// Names the first character that has the id of unknown characters.
[[noreturn]] void fail_unknown(const Prompt& prompt, const Array<TokenId>& ids, TokenId unknown,
                               const std::string& file) {
  std::size_t begin = 0, end = 0;
  for (const TokenId id : ids) {
    begin = end;
    next_code_point(prompt.text, end);
    if (id == unknown) break;
  }
  fail_usage("{}: the character {} has no id in {}", prompt.name,
             quote(prompt.text.substr(begin, end - begin)), file);
}

// `is_whole`: the text has its special tokens.
void encode(const Tokenizer& tokenizer, bool is_whole, Prompt& prompt) {
  const Array<TokenId> ids = tokenizer.encode(prompt.text, prompt.name);
  const auto unknown = tokenizer.special_ids().unk;
  if (unknown && tokenizer.kind() == "characters" && std::ranges::count(ids, *unknown) > 0)
    fail_unknown(prompt, ids, *unknown, tokenizer.name());
  if (is_whole) {
    prompt.ids.assign(ids.begin(), ids.end());
  } else {
    const TokenSequence all = tokenizer.sequence({ids.data(), ids.size()}, nullptr, max_token_id);
    prompt.ids.assign(all.ids.begin(), all.ids.end());
  }
  if (prompt.ids.empty()) fail_usage("{}: expected a prompt of 1 token or more", prompt.name);
}

// Calls f, and adds a hint to its errors.
template <class F>
auto with_template_hint(F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    throw Error(e.fault(),
                fmt::format("{} (--raw sends the messages without a template)", e.what()));
  }
}

// A list of messages, or an object with them.
Prompt chat_prompt(const Json& json, const std::string& name, const ChatTemplate* chat) {
  const JsonReader reader(json, name, Fault::input);
  const std::vector<ChatMessage> messages =
      chat_messages(json.is_object() ? reader["messages"] : reader);
  Prompt prompt{"", name, {}, json.is_object() ? json : Json()};
  if (json.is_array()) prompt.line["messages"] = json;
  if (chat) {
    prompt.text = with_template_hint([&] { return chat->prompt(messages); });
  } else {
    for (const ChatMessage& m : messages)
      prompt.text += (prompt.text.empty() ? "" : "\n") + m.content;
  }
  return prompt;
}

std::vector<Prompt> chat_prompts(const PromptOptions& o, const std::string& tokenizer_file) {
  std::optional<ChatTemplate> chat;
  if (!o.raw) {
    auto source = ChatTemplateSource::read(tokenizer_file);
    if (!source)
      fail_usage(
          "--chat: chat template not found beside {} (--raw sends the messages without a template)",
          printable(tokenizer_file));
    with_template_hint([&] { chat.emplace(*source); });
  }
  std::vector<Prompt> all;
  const auto take = [&](const std::string& name, const Json& json) {
    all.push_back(chat_prompt(json, name, chat ? &*chat : nullptr));
  };
  if (o.chat.starts_with('[') || o.chat.starts_with('{')) {
    take("--chat", parse_json(o.chat, "--chat", Fault::usage));
  } else if (o.is_list()) {
    const std::string file = printable(o.chat);
    each_json_line(text_in(o.chat), file, [&](Index line, const Json& json) {
      take(fmt::format("{}: line {}", file, line), json);
    });
  } else {
    take(printable(o.chat), parse_json(text_in(o.chat), printable(o.chat), Fault::input));
  }
  return all;
}

std::vector<Prompt> listed_prompts(const std::string& path) {
  std::vector<Prompt> all;
  const std::string file = path == "-" ? "standard input" : printable(path);
  each_json_line(text_in(path), file, [&](Index line, const Json& json) {
    const std::string name = fmt::format("{}: line {}", file, line);
    all.push_back({JsonReader(json, name, Fault::input)["prompt"].text(), name, {}, json});
  });
  if (all.empty()) fail("{}: expected prompts, got none", file);
  return all;
}

}  // namespace

bool PromptOptions::is_given() const {
  return text || !file.empty() || !list.empty() || !chat.empty();
}

std::vector<Prompt> read_prompts(const PromptOptions& o, const Tokenizer& tokenizer,
                                 const std::string& tokenizer_file) {
  const int sources = o.text.has_value() + !o.file.empty() + !o.list.empty() + !o.chat.empty();
  if (sources == 0 || (o.text && o.text->empty()))
    fail_usage("--generate needs --prompt 'TEXT' of 1 character or more");
  if (sources > 1) fail_usage("--prompt, --prompt-file, --prompts and --chat exclude each other");
  if (o.raw && o.chat.empty()) fail_usage("--raw needs --chat");
  std::vector<Prompt> all;
  if (o.text)
    all = {{*o.text, "--prompt", {}, {}}};
  else if (!o.file.empty())
    all = {{text_in(o.file), shown("--prompt-file", o.file), {}, {}}};
  else if (!o.list.empty())
    all = listed_prompts(o.list);
  else
    all = chat_prompts(o, tokenizer_file);
  for (Prompt& prompt : all) encode(tokenizer, !o.chat.empty() && !o.raw, prompt);
  return all;
}

}  // namespace sten
