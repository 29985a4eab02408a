// SPDX-License-Identifier: Apache-2.0
// Word splitting of GPT-2 (Radford et al. 2019), by the regular expression
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
#pragma once
#include <functional>
#include <string_view>

namespace sten {

// Calls f for each match in order; together they are the whole text, which is UTF-8.
void for_gpt_words(std::string_view text, const std::function<void(std::string_view)>& word);

}  // namespace sten
