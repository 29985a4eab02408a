// A hash of bytes, to tell contents apart.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sten {

// XXH3 (xxHash by Y. Collet) of the data, seeded with `hash`, that of what came before.
std::uint64_t hash_bytes(std::uint64_t hash, std::span<const std::byte> data);
inline std::uint64_t hash_of_text(std::string_view text) {
  return hash_bytes(0, std::as_bytes(std::span(text)));
}

}  // namespace sten
