// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/name_pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <memory>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten {
namespace {

// Limits: a short list can expand to very many or very long patterns.
constexpr std::size_t most_patterns = 1000, most_braces = 32, most_bytes = std::size_t{64} << 10;

// The position after the bracket expression that opens at `at`, or after the bracket if it is not
// closed.
std::size_t after_bracket(std::string_view text, std::size_t at) {
  const std::size_t end =
      text.find(']', at + (at + 1 < text.size() && text[at + 1] == ']' ? 2 : 1));
  return end == std::string_view::npos ? at + 1 : end + 1;
}

// The position of the first `c` from `at` outside brackets and braces; npos if none.
std::size_t find_outside(std::string_view text, char c, std::size_t at) {
  for (int depth = 0; at < text.size();) {
    if (depth == 0 && text[at] == c) return at;
    depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
    at = text[at] == '[' ? after_bracket(text, at) : at + 1;
  }
  return std::string_view::npos;
}

void expand(const std::string& head, std::string_view text, std::vector<std::string>& all);

// Expands head + each item of the list + rest.
void expand_list(const std::string& head, std::string_view list, std::string_view rest,
                 std::vector<std::string>& all) {
  for (std::size_t at = 0;;) {
    const std::size_t comma = find_outside(list, ',', at);
    expand(head, std::string(list.substr(at, comma - at)) + std::string(rest), all);
    if (comma == std::string_view::npos) return;
    at = comma + 1;
  }
}

// Expands `text` after `head`, whose braces are expanded already.
void expand(const std::string& head, std::string_view text, std::vector<std::string>& all) {
  const std::size_t open = find_outside(text, '{', 0);
  if (open == std::string_view::npos) {
    if (find_outside(text, '}', 0) != std::string_view::npos)
      fail_usage("'}}' without '{{' (write [}}] for the character)");
    all.push_back(head + std::string(text));
    if (all.size() > most_patterns) fail_usage("expected at most {} patterns", most_patterns);
    return;
  }
  const std::size_t close = find_outside(text, '}', open + 1);
  if (close == std::string_view::npos)
    fail_usage("'{{' without '}}' (write [{{] for the character)");
  expand_list(head + std::string(text.substr(0, open)), text.substr(open + 1, close - open - 1),
              text.substr(close + 1), all);
}

}  // namespace

std::vector<std::string> pattern_list(const std::string& text) {
  if (text.starts_with("re:")) return {text};
  std::vector<std::string> all;
  try {
    // Unclosed brackets take time quadratic in their number.
    const bool is_list = text.find_first_of("{},[") != std::string::npos;
    if (is_list && text.size() > most_bytes)
      fail_usage("expected at most {} bytes in a pattern with braces or brackets", most_bytes);
    if (static_cast<std::size_t>(std::count(text.begin(), text.end(), '{')) > most_braces)
      fail_usage("expected at most {} braces", most_braces);
    expand_list("", text, "", all);
    for (const std::string& pattern : all)
      if (pattern.empty()) fail_usage("empty pattern");
  } catch (const Error& e) {
    fail_usage("{}: {}", quote(std::string_view(text).substr(0, 200)), e.what());
  }
  return all;
}

NamePattern::NamePattern(const std::string& text) {
  if (text.starts_with("re:")) {
    // RE2 takes time linear in the text and bounded memory for every expression.
    RE2::Options options;
    options.set_log_errors(false);
    auto re = std::make_shared<RE2>(text.substr(3), options);
    if (!re->ok())
      fail_usage("{}: {}", quote(text), printable(std::string_view(re->error()).substr(0, 200)));
    matches_ = [re](const std::string& name) { return RE2::PartialMatch(name, *re); };
  } else if (has_glob_characters(text)) {
    prefix_ = text.substr(0, text.find_first_of("*?["));
    matches_ = [text](const std::string& name) { return glob_match(text, name); };
  } else {
    literal_ = true;
    prefix_ = text;
    matches_ = [text](const std::string& name) { return name == text; };
  }
}

std::string pattern_of(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (std::string_view("*?[{},").find(c) != std::string_view::npos)
      text += {'[', c, ']'};
    else
      text += c;
  }
  return text.starts_with("re:") ? "[r]" + text.substr(1) : text;
}

}  // namespace sten
