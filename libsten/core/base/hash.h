// SPDX-License-Identifier: Apache-2.0
// Hash of bytes, for comparing contents.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace sten {

// XXH3 (xxHash by Y. Collet) of `data`, seeded with `hash`, the hash of the preceding data.
std::uint64_t hash_bytes(std::uint64_t hash, std::span<const std::byte> data);
inline std::uint64_t hash_of_text(std::string_view text) {
  return hash_bytes(0, std::as_bytes(std::span(text)));
}

}  // namespace sten
