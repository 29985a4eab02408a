// SPDX-License-Identifier: Apache-2.0
// The tokens that end a generated text.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sten {

// eos_token_id of generation_config.json beside a config.json, or else of the latter, or of the
// metadata of a GGUF file: a number or a list; empty without it. Error (input) with the file for
// other values.
std::vector<std::int64_t> end_tokens(const std::string& config);

}  // namespace sten
