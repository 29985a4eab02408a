// "nmg:n=1,m=10,g=4": how command lines, recipes and checkpoints all name a layout, a sparsifier
// or a schedule.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libsten/base/shape.h"

namespace sten {

class Spec {
 public:
  Spec() = default;
  // "per-block", the older name of "nm", becomes "nm".
  explicit Spec(std::string name);
  // "2:4" is short for nm:n=2,m=4, "1:10:4" for nmg:n=1,m=10,g=4, "1:4:2:32" for
  // nmgv:n=1,m=4,g=2,v=32, "1:4:2:32x1" has w=1 too, "2:4@0" axis=0; "90%" as a value is 0.9.
  // Error (usage) that quotes the text and says what is wrong with it.
  static Spec parse(std::string_view text);

  const std::string& name() const { return name_; }
  bool is(std::string_view name) const { return name_ == name; }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  const std::vector<std::pair<std::string, std::string>>& args() const { return args_; }

  // Error (usage) where the key is missing (if no fallback is given) or its value does not parse.
  double number(std::string_view key) const;
  double number(std::string_view key, double fallback) const;
  Index integer(std::string_view key) const;
  Index integer(std::string_view key, Index fallback) const;
  std::string_view word(std::string_view key, std::string_view fallback) const;

  Spec& set(std::string_view key, std::string value);
  Spec& set(std::string_view key, Index value) { return set(key, std::to_string(value)); }

  // Error (usage) for the first key that is not among `known`, with the nearest one suggested.
  void check_keys(const std::vector<std::string>& known) const;

  // As parsed: keys in the order given.
  std::string str() const;
  friend bool operator==(const Spec&, const Spec&) = default;

 private:
  const std::string* find(std::string_view key) const;
  const std::string& required(std::string_view key) const;

  std::string name_;
  std::vector<std::pair<std::string, std::string>> args_;
};

}  // namespace sten
