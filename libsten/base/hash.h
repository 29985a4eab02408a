// A hash of bytes, to tell contents apart.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace sten {

// 64 bits that depend on all of the data, in their order, and on `hash`, that of what came before.
std::uint64_t hash_bytes(std::uint64_t hash, std::span<const std::byte> data);

}  // namespace sten
