// Names that a user points at.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace sten {

// A literal name, a glob on the whole name, or "re:" and a regular expression (RE2 syntax) on it.
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

// The pattern of this name alone, whatever characters it has.
std::string pattern_of(std::string_view name);

}  // namespace sten
