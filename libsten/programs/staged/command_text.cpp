// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <string_view>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/programs/staged/command.h"

namespace sten {
namespace {

// Characters without a meaning to the shell.
constexpr std::string_view plain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:,@%=";

std::string variable_of(std::string_view placeholder) {  // of "{in}"
  std::string name = "STEN_";
  for (const char c : placeholder.substr(1, placeholder.size() - 2))
    name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

// Reads the quotes of a command as the shell does. In constructs that are read differently (a
// here-document), a value may be split into words but is never run, since the shell does not
// evaluate the value of a variable again.
class Filler {
 public:
  Filler(const std::string& command, const Placeholders& values) : in_(command), values_(values) {}

  std::string text() {
    while (i_ < in_.size()) step();
    return std::move(out_);
  }

 private:
  // Open constructs: parentheses (also "$(" and "$(("), "${", and quotes.
  enum class Open { parenthesis, brace, backquote, quote };

  bool quoted() const {
    // Quoting within "${" is that around it.
    for (auto it = open_.rbegin(); it != open_.rend(); ++it)
      if (*it != Open::brace) return *it == Open::quote;
    return false;
  }
  bool top_is(Open o) const { return !open_.empty() && open_.back() == o; }
  bool next_is(char c) const { return i_ + 1 < in_.size() && in_[i_ + 1] == c; }
  void copy(std::size_t n) {
    n = std::min(n, in_.size() - i_);
    out_.append(in_, i_, n);
    i_ += n;
  }

  // "${in}" is a variable of the shell.
  const std::pair<std::string, std::string>* placeholder() const {
    if (in_[i_] != '{' || (i_ > 0 && in_[i_ - 1] == '$')) return nullptr;
    for (const auto& v : values_)
      if (in_.compare(i_, v.first.size(), v.first) == 0) return &v;
    return nullptr;
  }

  // `before` and `after` surround an inserted variable.
  bool fill(const char* before, const char* after) {
    const auto* v = placeholder();
    if (!v) return false;
    const std::string& value = v->second;
    if (!value.empty() && value.find_first_not_of(plain) == std::string::npos)
      out_ += value;
    else
      out_ += before + ("${" + variable_of(v->first) + "}") + after;
    i_ += v->first.size();
    return true;
  }

  bool begins_word() const {
    return i_ == 0 || std::string_view(" \t\n;&|(").find(in_[i_ - 1]) != std::string_view::npos;
  }

  void single_quotes() {
    copy(1);
    while (i_ < in_.size() && in_[i_] != '\'')
      if (!fill("'\"", "\"'")) copy(1);
    copy(1);
  }

  void backquote() {
    const auto at = std::find(open_.begin(), open_.end(), Open::backquote);
    if (at == open_.end())
      open_.push_back(Open::backquote);
    else
      open_.erase(at, open_.end());
    copy(1);
  }

  void step() {
    const bool in_quotes = quoted();
    if (in_quotes ? fill("", "") : fill("\"", "\"")) return;
    const char c = in_[i_];
    if (c == '\\') {
      const bool escapes =
          !in_quotes || (i_ + 1 < in_.size() &&
                         std::string_view("$`\"\\\n").find(in_[i_ + 1]) != std::string_view::npos);
      copy(escapes ? 2 : 1);
    } else if (c == '`') {
      backquote();
    } else if (c == '"') {
      if (top_is(Open::quote))
        open_.pop_back();
      else
        open_.push_back(Open::quote);
      copy(1);
    } else if (c == '$' && (next_is('(') || next_is('{'))) {
      open_.push_back(next_is('(') ? Open::parenthesis : Open::brace);
      copy(2);
    } else if (c == '}' && top_is(Open::brace)) {
      open_.pop_back();
      copy(1);
    } else if (in_quotes) {
      copy(1);
    } else if (c == '\'') {
      single_quotes();
    } else if (c == '#' && begins_word()) {
      copy(in_.find('\n', i_) - i_);
    } else {
      if (c == '(') open_.push_back(Open::parenthesis);
      if (c == ')' && top_is(Open::parenthesis)) open_.pop_back();
      copy(1);
    }
  }

  const std::string& in_;
  const Placeholders& values_;
  std::size_t i_ = 0;
  std::vector<Open> open_;
  std::string out_;
};

}  // namespace

std::string fill_in(const std::string& command, const Placeholders& values) {
  return Filler(command, values).text();
}

std::vector<std::string> variables(const Placeholders& values) {
  std::vector<std::string> out;
  for (const auto& [placeholder, value] : values)
    out.push_back(variable_of(placeholder) + "=" + value);
  return out;
}

void check_placeholders(const std::string& command, const std::vector<std::string>& known) {
  for (std::size_t i = command.find('{'); i != std::string::npos; i = command.find('{', i + 1)) {
    if (i > 0 && command[i - 1] == '$') continue;
    const std::size_t end = command.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", i + 1);
    if (end == std::string::npos || end == i + 1 || command[end] != '}') continue;
    const std::string word = command.substr(i, end + 1 - i);
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    const std::string near = suggestion(word, known);
    if (!near.empty()) fail_usage("unknown placeholder {}{}", quote(word), near);
  }
}

}  // namespace sten
