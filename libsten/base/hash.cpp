#include "libsten/base/hash.h"

#include <cstring>

#include "libsten/base/random.h"

namespace sten {

std::uint64_t hash_bytes(std::uint64_t hash, std::span<const std::byte> data) {
  // Four chains, so that a step need not wait for the one before.
  constexpr std::size_t lanes = 4;
  std::uint64_t h[lanes] = {hash, hash + 1, hash + 2, hash + 3};
  std::size_t at = 0;
  for (; at + 8 * lanes <= data.size(); at += 8 * lanes)
    for (std::size_t k = 0; k < lanes; ++k) {
      std::uint64_t word;
      std::memcpy(&word, data.data() + at + 8 * k, 8);
      h[k] = (h[k] ^ word) * 0x9fb21c651e98df25u;
      h[k] ^= h[k] >> 32;
    }
  for (; at < data.size(); ++at) h[0] = mix_bits(h[0] ^ std::to_integer<std::uint64_t>(data[at]));
  for (std::size_t k = 1; k < lanes; ++k) h[0] = mix_bits(h[0] ^ h[k]);
  return mix_bits(h[0] ^ data.size());
}

}  // namespace sten
