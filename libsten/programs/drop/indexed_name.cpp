// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/drop/indexed_name.h"

#include <charconv>

namespace sten {

std::optional<IndexedName> indexed_name(std::string_view name, std::string_view list) {
  if (name.size() <= list.size() || !name.starts_with(list) || name[list.size()] != '.')
    return std::nullopt;
  name.remove_prefix(list.size() + 1);
  IndexedName at{};
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), at.index);
  const auto digits = static_cast<std::size_t>(end - name.data());
  if (error != std::errc() || at.index < 0 || digits == name.size() || name[digits] != '.')
    return std::nullopt;
  at.rest = name.substr(digits + 1);
  return at;
}

}  // namespace sten
