#include "libsten/tensor/mask.h"

#include <cstring>

#include "kernels/elementwise.h"

namespace sten {

Mask Mask::none(Shape extents) {
  const Index n = size_of(extents);
  return {std::move(extents), Array<std::uint8_t>(ceil_div(n, 8))};
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

Index Mask::count() const { return count_bits(bits.data(), 0, size()); }

Index count_bits(const std::uint8_t* bits, Index begin, Index end) {
  Index n = 0;
  while (begin < end && begin % 8) n += bit_at(bits, begin++);
  return begin < end ? n + kernels::elementwise().count_bits(bits + begin / 8, end - begin) : n;
}

}  // namespace sten
