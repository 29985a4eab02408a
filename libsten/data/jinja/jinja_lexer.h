// SPDX-License-Identifier: Apache-2.0
// Tokens of a template.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace sten::jinja {

enum class TokenKind {
  text,
  print_begin,
  print_end,
  block_begin,
  block_end,
  name,
  number,
  string,
  symbol,
  end
};

struct Token {
  TokenKind kind;
  std::string text;  // of strings, without quotes and escapes
  int line;
};

// Splits a template, and removes white space by trim_blocks, lstrip_blocks and "-". Error (usage)
// that starts with `name`.
std::vector<Token> tokens_of(std::string_view text, const std::string& name);

}  // namespace sten::jinja
