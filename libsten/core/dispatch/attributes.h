// SPDX-License-Identifier: Apache-2.0
// Attributes: arguments of an operator that are not tensors, by name.
#pragma once
#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "libsten/core/base/shape.h"

namespace sten {

class Attributes {
 public:
  using List = std::vector<Index>;
  using Value = std::variant<Index, double, std::string, List>;

  // Sets or replaces an attribute.
  Attributes& set(std::string_view name, Value v);
  template <std::integral T>
  Attributes& set(std::string_view name, T v) {
    return set(name, Value(static_cast<Index>(v)));
  }
  template <std::floating_point T>
  Attributes& set(std::string_view name, T v) {
    return set(name, Value(static_cast<double>(v)));
  }

  bool has(std::string_view name) const { return find(name) != nullptr; }
  // The value or `fallback`. Error (usage) if the attribute has another type; number() accepts
  // integers.
  Index integer(std::string_view name, Index fallback) const;
  double number(std::string_view name, double fallback) const;
  const std::string& word(std::string_view name, const std::string& fallback) const;
  const List& list(std::string_view name, const List& fallback) const;
  const std::vector<std::pair<std::string, Value>>& all() const { return all_; }

  // Error (usage), in the name of operator `op`, for the first attribute that is not in `known`.
  void check(std::string_view op, std::initializer_list<std::string_view> known) const;
  // Returns "axis=1, eps=1e-05, shape=[2, 3]".
  std::string str() const;
  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  const Value* find(std::string_view name) const;

  std::vector<std::pair<std::string, Value>> all_;  // in the order in which they were set
};

}  // namespace sten
