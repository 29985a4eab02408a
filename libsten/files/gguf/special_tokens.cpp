// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/special_tokens.h"

#include <algorithm>

#include "libsten/core/base/error.h"
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

}  // namespace

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
}

}  // namespace sten
