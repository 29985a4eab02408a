// SPDX-License-Identifier: Apache-2.0
// Special tokens of a Hugging Face model in the metadata of a GGUF file.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libsten/core/base/json.h"
#include "libsten/files/gguf/gguf_writer.h"

namespace sten {

// The id of a token; -1 without one.
std::int64_t token_id(const std::vector<std::string>& tokens, const std::string& token);

// Adds the ids of special tokens, whether a text gets the first and the last token, and the chat
// template. `tokens`: by id. `settings`: tokenizer_config.json, or null; where it has no token,
// that of `config`, config.json, is taken. `adds(token, is_first)` says what a text gets without a
// flag in `settings`.
void add_special_tokens(const std::vector<std::string>& tokens,
                        const nlohmann::ordered_json& settings,
                        const nlohmann::ordered_json& config,
                        const std::function<bool(const std::string&, bool)>& adds,
                        GgufMetadata& to);

}  // namespace sten
