// SPDX-License-Identifier: Apache-2.0
#include "kernels/nmg_write.h"

namespace sten::kernels {
namespace {

// known: n if it is small, so that values are copied without a loop; else 0.
template <int known, class U, class I>
void write(const NmgFormat& f, const NmgElements<U>& in, const std::uint16_t* pattern_of,
           std::int32_t* next, U* values, I* index) {
  const std::int64_t n = known ? known : f.n;
  for (std::int64_t p = 0; p < f.count; ++p) next[p] = static_cast<std::int32_t>(p * f.g);
  for (std::int64_t s = 0; s < f.strips(); ++s) {
    const std::int64_t p = pattern_of[s], slot = next[p]++;
    const std::uint16_t* rows = f.patterns + p * n;
    const U* from = in.x + s * in.col_stride;
    U* to = values + slot * n;
    index[slot] = static_cast<I>(s);
    for (std::int64_t i = 0; i < n; ++i) to[i] = from[rows[i] * in.row_stride];
  }
}

}  // namespace

template <class U, class I>
void nmg_write(const NmgFormat& f, const NmgElements<U>& in, const std::uint16_t* pattern_of,
               std::int32_t* next, U* values, I* index) {
  switch (f.n) {
    case 1:
      return write<1>(f, in, pattern_of, next, values, index);
    case 2:
      return write<2>(f, in, pattern_of, next, values, index);
    case 3:
      return write<3>(f, in, pattern_of, next, values, index);
    case 4:
      return write<4>(f, in, pattern_of, next, values, index);
    default:
      return write<0>(f, in, pattern_of, next, values, index);
  }
}

#define STEN_WRITE(U, I)                                                                 \
  template void nmg_write(const NmgFormat&, const NmgElements<U>&, const std::uint16_t*, \
                          std::int32_t*, U*, I*);
#define STEN_WRITE_ALL(U)     \
  STEN_WRITE(U, std::uint8_t) \
  STEN_WRITE(U, std::uint16_t)
STEN_WRITE_ALL(std::uint8_t)
STEN_WRITE_ALL(std::uint16_t)
STEN_WRITE_ALL(std::uint32_t)
STEN_WRITE_ALL(std::uint64_t)
#undef STEN_WRITE_ALL
#undef STEN_WRITE

}  // namespace sten::kernels
