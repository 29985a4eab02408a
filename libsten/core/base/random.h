// SPDX-License-Identifier: Apache-2.0
// Counter-based random numbers (kernels/random.h).
#pragma once
#include <cstdint>
#include <string_view>

#include "kernels/random.h"

namespace sten {

using kernels::mix_bits;
using kernels::random_bits;
using kernels::random_uniform;

// The seed of a named object: FNV-1a of the name, mixed with `seed`.
constexpr std::uint64_t seed_for(std::uint64_t seed, std::string_view name) {
  std::uint64_t h = 0xcbf29ce484222325u;
  for (char c : name) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return mix_bits(seed ^ mix_bits(h));
}

}  // namespace sten
