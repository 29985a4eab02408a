// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/hash.h"

#define XXH_INLINE_ALL  // header only: nothing to link
#include <xxhash.h>

namespace sten {

std::uint64_t hash_bytes(std::uint64_t hash, std::span<const std::byte> data) {
  return XXH3_64bits_withSeed(data.data(), data.size(), hash);
}

}  // namespace sten
