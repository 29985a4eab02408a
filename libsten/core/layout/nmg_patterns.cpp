// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/layout/nmg_patterns.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <tuple>

#include "libsten/core/base/cuda.h"
#include "libsten/core/base/error.h"

namespace sten {

Index pattern_count(Index n, Index m, Index limit) {
  // C(m, k) grows with k up to m / 2, and each partial product is a binomial coefficient itself.
  const Index k = std::min(n, m - n);
  Index c = 1;
  for (Index i = 1; i <= k; ++i) {
    __int128 next = static_cast<__int128>(c) * (m - k + i) / i;
    if (next > limit) return limit + 1;
    c = static_cast<Index>(next);
  }
  return c;
}

std::shared_ptr<const PatternTable> PatternTable::get(Index n, Index m) {
  constexpr Index most = 65536, entries = Index{1} << 25;  // pattern indices have 16 bits
  // Positions in a strip and their count have 16 bits, too.
  if (m > most || n == most) fail_usage("n={0},m={1}: expected m <= {2} and n < {2}", n, m, most);
  const Index count = pattern_count(n, m, most);
  if (count > most) fail_usage("n={},m={}: C(m, n) must be at most {} patterns", n, m, most);
  if (count > entries / n)
    fail_usage("n={},m={}: {} patterns of {} positions exceed the pattern table", n, m, count, n);
  static std::mutex lock;
  static std::map<std::pair<Index, Index>, std::shared_ptr<const PatternTable>> tables;
  const std::lock_guard hold(lock);
  auto& table = tables[{n, m}];
  if (!table) table.reset(new PatternTable(n, m, count));
  return table;
}

DeviceNmgPatterns::DeviceNmgPatterns(Index n, Index m, Device device)
    : table_(PatternTable::get(n, m)) {
  constexpr Index small = 1 << 12;  // positions
  const Index positions = table_->count() * n;
  const auto send = [&] {
    return Array<std::uint16_t>::borrow(table_, table_->data(), static_cast<std::size_t>(positions))
        .to(device);
  };
  if (device == Device::cpu || positions > small) {
    rows_ = send();
    return;
  }
  static std::mutex lock;
  // Keyed by backend (tests have several) and device index. Never destroyed, like all state of
  // devices.
  using Key = std::tuple<const void*, int, Index, Index>;
  static auto& sent = *new std::map<Key, Array<std::uint16_t>>;
  const Key key{&cuda(), current_device(), n, m};
  const std::lock_guard hold(lock);
  auto at = sent.find(key);
  if (at == sent.end()) at = sent.emplace(key, send()).first;
  rows_ = at->second;
}

PatternTable::PatternTable(Index n, Index m, Index count)
    : n_(n),
      m_(m),
      count_(count),
      rows_(count * n),
      swaps_(count),
      slots_(std::bit_ceil<std::size_t>(2 * count), -1) {
  fill(0, n, m, count, false, false);
  for (Index p = 1; p < count; ++p) {
    const std::uint16_t *a = rows_.data() + (p - 1) * n, *b = a + n;
    Index i = 0, j = n;
    while (a[i] == b[i]) ++i;
    while (a[j - 1] == b[j - 1]) --j;
    // The positions in between moved up or down by one, or did not move.
    swaps_[p] = a[i] < b[i] ? kernels::NmgSwap{a[i], b[j - 1]} : kernels::NmgSwap{a[j - 1], b[i]};
  }
  for (Index p = 0; p < count; ++p) {
    std::size_t slot = slot_of(rows_.data() + p * n);
    while (slots_[slot] >= 0) slot = (slot + 1) % slots_.size();
    slots_[slot] = static_cast<std::int32_t>(p);
  }
}

// Writes positions 0 .. n-1 of the `count` = C(m, n) patterns from `at` on:
//   f(n, m, s) = f(n, m-1, true), reversed if s, then f(n-1, m-1, not s) with m-1 appended;
// `reversed` writes the list backwards. The first term is the loop and the second the recursion, so
// that the depth is n.
void PatternTable::fill(Index at, Index n, Index m, Index count, bool s, bool reversed) {
  for (; n > 0; --m) {
    if (n == m) {
      for (Index i = 0; i < n; ++i) rows_[at * n_ + i] = static_cast<std::uint16_t>(i);
      return;
    }
    const Index with_last = count * n / m, without = count - with_last;
    const Index first = reversed ? at + with_last : at, second = reversed ? at : at + without;
    for (Index p = second; p < second + with_last; ++p)
      rows_[p * n_ + n - 1] = static_cast<std::uint16_t>(m - 1);
    fill(second, n - 1, m - 1, with_last, !s, reversed);
    at = first;
    count = without;
    reversed = reversed != s;
    s = true;
  }
}

std::size_t PatternTable::slot_of(const std::uint16_t* positions) const {
  std::uint64_t h = 0;
  for (Index i = 0; i < n_; ++i) h = (h ^ positions[i]) * 0x9e3779b97f4a7c15u;
  return (h ^ h >> 32) & (slots_.size() - 1);
}

Index PatternTable::find(const std::uint16_t* positions) const {
  for (std::size_t slot = slot_of(positions);; slot = (slot + 1) & (slots_.size() - 1)) {
    const Index p = slots_[slot];
    if (p < 0) return -1;
    if (std::equal(positions, positions + n_, rows_.data() + p * n_)) return p;
  }
}

}  // namespace sten
