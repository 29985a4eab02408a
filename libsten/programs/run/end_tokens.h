// The tokens that end a generated text.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sten {

// eos_token_id of generation_config.json in the directory, or else of config.json: a number or a
// list; empty without it. Error (input) with the file for other values.
std::vector<std::int64_t> end_tokens(const std::string& directory);

}  // namespace sten
