// SPDX-License-Identifier: Apache-2.0
// Special tokens of a Hugging Face model in the metadata of a GGUF file.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "libsten/core/base/json.h"
#include "libsten/files/gguf/gguf_writer.h"

namespace sten {

// The id of a token; -1 without one.
std::int64_t token_id(const std::vector<std::string>& tokens, const std::string& token);

// llama.cpp strips spaces after the other special tokens of Phi-3, which it knows by "general.name".
inline constexpr std::string_view phi3_unstripped[] = {"<unk>", "<s>", "<|endoftext|>"};
// Whether llama.cpp takes a model with this name for Phi-3.
bool is_phi3_name(std::string_view name);

// The text of a user-defined token, which llama.cpp finds before it replaces spaces by U+2581: with
// spaces instead.
std::string with_spaces(std::string_view text);

// Gives each empty text, of an unused token, a name that no other token has. Error for two tokens of
// one text, which llama.cpp cannot load. `name` starts messages.
void name_unused_tokens(std::vector<std::string>& tokens, const std::string& name);

// Added tokens whose ids are beyond the rows of the embedding. A file has no place for them.
class TokensBeyond {
 public:
  // `name` starts the warning, and outlives the object.
  TokensBeyond(const std::string& name, std::size_t rows) : name_(name), rows_(rows) {}

  void add(const std::string& text, std::size_t id);
  void warn_of_them() const;  // in one line

 private:
  const std::string& name_;
  std::size_t rows_, count_ = 0, first_id_ = 0;
  std::string first_;
};

// Adds the ids of special tokens, whether a text gets the first and the last token, the chat
// template, and the name of a Phi-3. `tokens`: by id. `settings`: tokenizer_config.json, or null;
// where it has no token, that of `config`, config.json, is taken. `adds(token, is_first)` says what
// a text gets without a flag in `settings`.
void add_special_tokens(const std::vector<std::string>& tokens,
                        const nlohmann::ordered_json& settings,
                        const nlohmann::ordered_json& config,
                        const std::function<bool(const std::string&, bool)>& adds,
                        GgufMetadata& to);

}  // namespace sten
