// Names that a user points at.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sten {

// A literal name, a glob on the whole name, or "re:" and a regular expression (RE2 syntax) that
// matches anywhere in it: ^ and $ tie it to the ends.
class NamePattern {
 public:
  explicit NamePattern(const std::string& text);  // Error (usage) for a broken expression
  bool matches(const std::string& name) const { return matches_(name); }
  bool is_literal() const { return literal_; }
  // What every name that it matches begins with.
  const std::string& literal_prefix() const { return prefix_; }

 private:
  std::function<bool(const std::string&)> matches_;
  bool literal_ = false;
  std::string prefix_;
};

// The patterns of a list: "a,*.{b,c}" is a, *.b and *.c, in this order. Braces may hold braces;
// the text in [] is not a list, nor is a regular expression. Error (usage): a brace without its
// partner, an empty pattern, more than 1000 of them, more than 32 braces, a list of over 64 KiB.
std::vector<std::string> pattern_list(const std::string& text);

// The pattern of this name alone, whatever characters it has.
std::string pattern_of(std::string_view name);

}  // namespace sten
