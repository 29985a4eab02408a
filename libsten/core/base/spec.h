// SPDX-License-Identifier: Apache-2.0
// Spec: the text that names a layout, sparsifier or schedule with its parameters,
// "nmg:n=1,m=10,g=4", on command lines, in recipes and in checkpoints.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libsten/core/base/shape.h"

namespace sten {

// A row of a table of docs/formats.md: a spec, its optional keys in brackets, and what it means.
struct SpecDoc {
  std::string_view spec, text;
};

class Spec {
 public:
  Spec() = default;
  // Replaces "per-block", the older name of "nm".
  explicit Spec(std::string name);
  // Parses a spec. Short forms: "2:4" is nm:n=2,m=4; "1:10:4" is nmg:n=1,m=10,g=4; "1:4:2:32" is
  // nmgv:n=1,m=4,g=2,v=32; "1:4:2:32x1" sets w=1 too; "@0" sets axis=0; the value "90%" is 0.9.
  // Error (usage) quotes the text and gives the reason.
  static Spec parse(std::string_view text);

  const std::string& name() const { return name_; }
  bool is(std::string_view name) const { return name_ == name; }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  const std::vector<std::pair<std::string, std::string>>& args() const { return args_; }

  // The value of a key. Error (usage) if the key is missing and has no fallback, or if the value
  // does not parse.
  double number(std::string_view key) const;
  double number(std::string_view key, double fallback) const;
  Index integer(std::string_view key) const;
  Index integer(std::string_view key, Index fallback) const;
  std::string_view word(std::string_view key, std::string_view fallback) const;

  Spec& set(std::string_view key, std::string value);
  Spec& set(std::string_view key, Index value) { return set(key, std::to_string(value)); }

  // Error (usage) for the first key that is not in `known`; suggests the nearest known key.
  void check_keys(const std::vector<std::string>& known) const;

  // The text of the spec, with keys in the order in which they were given.
  std::string str() const;
  friend bool operator==(const Spec&, const Spec&) = default;

 private:
  const std::string* find(std::string_view key) const;
  const std::string& required(std::string_view key) const;

  std::string name_;
  std::vector<std::pair<std::string, std::string>> args_;
};

}  // namespace sten
