// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/tensor/mask.h"

#include <bit>
#include <cstring>

#include "kernels/elementwise.h"
#include "libsten/core/base/cuda.h"

namespace sten {

void set_bits_shared(std::uint8_t* bits, Index i, std::uint64_t word) {
  if (word == 0) return;
  const int last_bit = 63 - std::countl_zero(word);
  std::uint8_t *at = bits + (i >> 3), *last = bits + ((i + last_bit) >> 3);
  const auto share = [](std::uint8_t* byte, std::uint64_t v) {
    std::atomic_ref(*byte).fetch_or(static_cast<std::uint8_t>(v), std::memory_order_relaxed);
  };
  share(at, word << (i & 7) & 0xff);
  word >>= 8 - (i & 7);
  for (; ++at < last; word >>= 8) *at = static_cast<std::uint8_t>(*at | (word & 0xff));
  if (at == last) share(at, word & 0xff);
}

Mask Mask::none(Shape extents, Device device) {
  const Index n = size_of(extents);
  return {std::move(extents), Array<std::uint8_t>(ceil_div(n, 8), device)};
}

Mask Mask::all(Shape extents) {
  Mask m = none(std::move(extents));
  const Index n = m.size();
  if (n == 0) return m;
  std::uint8_t* bits = m.bits.mutate();
  std::memset(bits, 0xff, m.bits.size());
  if (n % 8) bits[n / 8] = static_cast<std::uint8_t>((1u << n % 8) - 1);
  return m;
}

void Mask::set(Index i, bool keep) {
  std::uint8_t* b = bits.mutate();
  const auto bit = static_cast<std::uint8_t>(1u << (i & 7));
  b[i >> 3] = static_cast<std::uint8_t>(keep ? b[i >> 3] | bit : b[i >> 3] & ~bit);
}

Index Mask::count() const {
  if (device() == Device::cpu) return count_bits(bits.data(), 0, size());
  return launch(&kernels::ElementwiseFunctions::count_bits, bits.data(), size());
}

Index count_bits(const std::uint8_t* bits, Index begin, Index end) {
  Index n = 0;
  while (begin < end && begin % 8) n += bit_at(bits, begin++);
  return begin < end ? n + kernels::elementwise().count_bits(bits + begin / 8, end - begin) : n;
}

}  // namespace sten
