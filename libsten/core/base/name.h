// SPDX-License-Identifier: Apache-2.0
// Interned names of operators, layouts and sparsifiers: copied, compared and hashed like an
// integer.
#pragma once
#include <compare>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sten {

class Name {
 public:
  Name() = default;  // ""
  Name(std::string_view text);
  Name(const char* text) : Name(std::string_view(text)) {}
  Name(const std::string& text) : Name(std::string_view(text)) {}

  // Valid until the process ends.
  std::string_view text() const;
  std::uint32_t id() const { return id_; }
  // Orders by first use in the process.
  friend auto operator<=>(const Name&, const Name&) = default;

 private:
  std::uint32_t id_ = 0;
};

}  // namespace sten

template <>
struct std::hash<sten::Name> {
  std::size_t operator()(sten::Name n) const { return n.id(); }
};
