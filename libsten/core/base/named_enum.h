// SPDX-License-Identifier: Apache-2.0
// Enums whose values have names on command lines: an overload names_of(E) lists them in the order
// of the values.
#pragma once
#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/hints.h"

namespace sten {

template <class E>
concept NamedEnum = requires(E value) {
  names_of(value);
};

template <NamedEnum E>
const std::string& name_of(E value) {
  return names_of(value)[static_cast<std::size_t>(value)];
}

// Returns the value of a name. Error (usage) with the flag and the nearest name for another text.
template <NamedEnum E>
E value_of(const char* flag, const std::string& name) {
  const std::vector<std::string>& all = names_of(E{});
  const auto at = std::ranges::find(all, name);
  if (at == all.end()) fail_usage("{}", unknown_name(flag, name, all));
  return static_cast<E>(at - all.begin());
}

}  // namespace sten
