// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/special_tokens.h"

#include <algorithm>
#include <unordered_map>

#include "libsten/core/base/error.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/text.h"
#include "libsten/files/gguf/json_member.h"

namespace sten {
namespace {

using Json = nlohmann::ordered_json;

struct Special {
  const char *gguf, *token, *id, *flag;
};
constexpr Special specials[] = {{"bos", "bos_token", "bos_token_id", "add_bos_token"},
                                {"eos", "eos_token", "eos_token_id", "add_eos_token"},
                                {"unknown", "unk_token", "unk_token_id", nullptr},
                                {"padding", "pad_token", "pad_token_id", nullptr}};

// The text of a token in tokenizer_config.json; "" if it is missing.
std::string token_text(const Json& settings, const char* key) {
  const Json& value = json_member(settings, key);
  const Json& content = value.is_object() ? json_member(value, "content") : value;
  return content.is_string() ? content.get<std::string>() : "";
}

// The chat template; of several with names, the default one. "" without one.
std::string default_template(const Json& chat) {
  if (chat.is_string()) return chat.get<std::string>();
  if (chat.is_array())
    for (const Json& named : chat)
      if (const Json& text = json_member(named, "template");
          json_member(named, "name") == "default" && text.is_string())
        return text.get<std::string>();
  return "";
}

// Whether llama.cpp can load the tokens under the name of Phi-3. Phi-4 has others.
bool has_phi3_tokens(const std::vector<std::string>& tokens) {
  const auto has = [&](std::string_view t) { return token_id(tokens, std::string(t)) >= 0; };
  return has("</s>") && std::ranges::all_of(phi3_unstripped, has);
}

}  // namespace

bool is_phi3_name(std::string_view name) {
  std::string lower(name);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower.find("phi-3") != lower.npos || lower.find("phi3") != lower.npos;
}

std::string with_spaces(std::string_view text) {
  constexpr std::string_view block = "\xe2\x96\x81";  // U+2581
  std::string spaced;
  for (std::size_t at; (at = text.find(block)) != text.npos;
       text.remove_prefix(at + block.size())) {
    spaced += text.substr(0, at);
    spaced += ' ';
  }
  return spaced += text;
}

void TokensBeyond::add(const std::string& text, std::size_t id) {
  if (count_++ > 0) return;
  first_ = text;
  first_id_ = id;
}

void TokensBeyond::warn_of_them() const {
  if (count_ > 0)
    warn("{}: {} added tokens, such as {} with the id {}, are left out: the embedding has {} rows",
         name_, count_, quote(first_), first_id_, rows_);
}

void name_unused_tokens(std::vector<std::string>& tokens, const std::string& name) {
  std::unordered_map<std::string, std::size_t> ids;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].empty()) continue;
    const auto [first, is_new] = ids.try_emplace(tokens[i], i);
    if (!is_new)
      fail("{}: token {}: expected one id, got {} and {}", name, quote(tokens[i]), first->second,
           i);
  }
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].empty()) continue;
    tokens[i] = fmt::format("[PAD{}]", i);
    while (ids.contains(tokens[i])) tokens[i] += '_';
    ids.emplace(tokens[i], i);
  }
}

std::int64_t token_id(const std::vector<std::string>& tokens, const std::string& token) {
  const auto at = std::ranges::find(tokens, token);
  return at == tokens.end() ? -1 : at - tokens.begin();
}

void add_special_tokens(const std::vector<std::string>& tokens, const Json& settings,
                        const Json& config,
                        const std::function<bool(const std::string&, bool)>& adds,
                        GgufMetadata& to) {
  for (const Special& s : specials) {
    const std::string text = token_text(settings, s.token);
    std::int64_t id = text.empty() ? -1 : token_id(tokens, text);
    const Json& given = json_member(config, s.id);
    const Json& first = given.is_array() && !given.empty() ? given.front() : given;
    if (id < 0 && first.is_number_unsigned() && first.get<std::uint64_t>() < tokens.size())
      id = first.get<std::int64_t>();
    if (id >= 0)
      to.add(fmt::format("tokenizer.ggml.{}_token_id", s.gguf), static_cast<std::uint32_t>(id));
    if (!s.flag) continue;
    const Json& flag = json_member(settings, s.flag);
    const bool is_first = s.gguf == std::string_view("bos");
    to.add(fmt::format("tokenizer.ggml.add_{}_token", s.gguf),
           flag.is_boolean() ? flag.get<bool>() : adds(text, is_first));
  }
  const std::string chat = default_template(json_member(settings, "chat_template"));
  if (!chat.empty()) to.add("tokenizer.chat_template", chat);
  if (json_member(config, "model_type") == "phi3" && has_phi3_tokens(tokens))
    to.add("general.name", "Phi-3");
}

}  // namespace sten
