// SPDX-License-Identifier: Apache-2.0
// Name patterns: names, globs and regular expressions that select tensors or layers.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sten {

// A literal name, a glob on the whole name, or "re:" and a regular expression (RE2 syntax) that may
// match any part of the name; ^ and $ anchor it.
class NamePattern {
 public:
  explicit NamePattern(const std::string& text);  // Error (usage) for a broken expression
  bool matches(const std::string& name) const { return matches_(name); }
  bool is_literal() const { return literal_; }
  // The common prefix of all names that the pattern matches.
  const std::string& literal_prefix() const { return prefix_; }

 private:
  std::function<bool(const std::string&)> matches_;
  bool literal_ = false;
  std::string prefix_;
};

// Splits a list of patterns: "a,*.{b,c}" is a, *.b and *.c, in this order. Braces may be nested;
// commas in [] and in regular expressions do not separate. Error (usage) for unbalanced braces, an
// empty pattern, over 1000 patterns, over 32 braces, or a list of over 64 KiB.
std::vector<std::string> pattern_list(const std::string& text);

// The pattern that matches this name only, with special characters escaped.
std::string pattern_of(std::string_view name);

}  // namespace sten
