// Names of operators, layouts and sparsifiers, each kept once per process: as cheap to copy,
// compare and hash as a number.
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

  // Lives as long as the process.
  std::string_view text() const;
  std::uint32_t id() const { return id_; }
  // By the order in which names were first used.
  friend auto operator<=>(const Name&, const Name&) = default;

 private:
  std::uint32_t id_ = 0;
};

}  // namespace sten

template <>
struct std::hash<sten::Name> {
  std::size_t operator()(sten::Name n) const { return n.id(); }
};
