// SPDX-License-Identifier: Apache-2.0
#include "kernels/nm_select.h"

#include <algorithm>

#include "kernels/elementwise.h"

namespace sten::kernels {
namespace {

template <class U>
void select(const U* x, std::int64_t count, std::int64_t n, std::int64_t m, U infinity,
            std::uint64_t* keep) {
  std::fill_n(keep, (count + 63) / 64, 0);
  U keys[most_ranked];
  for (std::int64_t begin = 0; begin < count; begin += m) {
    const std::int64_t size = std::min(m, count - begin);
    for (std::int64_t i = 0; i < size; ++i)
      keys[i] = std::min(magnitude_key(x[begin + i]), infinity);
    for (std::int64_t i = 0; i < size; ++i) {
      std::int64_t ahead = 0;  // elements of the block that rank higher
      for (std::int64_t j = 0; j < i; ++j) ahead += keys[j] >= keys[i];
      for (std::int64_t j = i + 1; j < size; ++j) ahead += keys[j] > keys[i];
      if (ahead < n) keep[(begin + i) / 64] |= std::uint64_t{1} << (begin + i) % 64;
    }
  }
}

constexpr NmSelectTable table{select, select, select, select};

}  // namespace

const NmSelectTable* nm_select_reference() { return &table; }

}  // namespace sten::kernels
