// SPDX-License-Identifier: Apache-2.0
// Splitting of text before byte-level BPE, by llama.cpp's names ("tokenizer.ggml.pre").
#pragma once
#include <string>
#include <string_view>

namespace sten {

// The "pre_tokenizer" of tokenizer.json as JSON text; "" for an unknown name.
std::string pre_tokenizer_json(std::string_view name);
// The "normalizer"; "null" if there is none.
std::string pre_tokenizer_normalizer(std::string_view name);
// Whether a piece that is a token is not merged, and, if a file does not say, a text gets the first
// token: llama.cpp does both for the same names.
bool pre_tokenizer_ignores_merges(std::string_view name);
// The name for a tokenizer.json by the regular expression of its first Split, or "" for the one of
// GPT-2, by whether it splits numbers into digits, and, if there are several names, by whether it
// ignores merges. "" if llama.cpp's name is unknown.
std::string_view pre_tokenizer_name(std::string_view regex, bool has_digits, bool ignores_merges);

}  // namespace sten
