// SPDX-License-Identifier: Apache-2.0
// The patterns of n:m:g in their fixed order, in which neighbours differ in one position.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/nmg_exact.h"
#include "libsten/core/base/array.h"
#include "libsten/core/base/shape.h"

namespace sten {

// The binomial coefficient C(m, n), 1 <= n <= m, or limit + 1 if it exceeds `limit`.
Index pattern_count(Index n, Index m, Index limit);

class PatternTable {
 public:
  // The table of n and m, 1 <= n <= m, shared by all callers. Error (usage) for more than 65536
  // patterns, strips longer than 16 bits can index, or tables larger than 64 MB.
  static std::shared_ptr<const PatternTable> get(Index n, Index m);

  Index n() const { return n_; }
  Index m() const { return m_; }
  Index count() const { return count_; }
  // Positions of pattern p, ascending.
  std::span<const std::uint16_t> operator[](Index p) const {
    return {rows_.data() + p * n_, static_cast<std::size_t>(n_)};
  }
  const std::uint16_t* data() const { return rows_.data(); }  // [count, n]
  // Pattern p is pattern p - 1 with one position exchanged; [count], the first unused.
  const kernels::NmgSwap* swaps() const { return swaps_.data(); }
  kernels::NmgFormat format(Index g) const {
    return {rows_.data(), swaps_.data(), n_, m_, count_, g};
  }
  // The pattern with these n ascending positions.
  Index find(const std::uint16_t* positions) const;

 private:
  PatternTable(Index n, Index m, Index count);
  void fill(Index at, Index n, Index m, Index count, bool s, bool reversed);
  std::size_t slot_of(const std::uint16_t* positions) const;

  Index n_, m_, count_;
  std::vector<std::uint16_t> rows_;
  std::vector<kernels::NmgSwap> swaps_;
  std::vector<std::int32_t> slots_;  // open addressing; -1 free
};

// The patterns of a table on a device. Small tables are copied once and stay there.
class DeviceNmgPatterns {
 public:
  DeviceNmgPatterns(Index n, Index m, Device device);
  kernels::NmgFormat format(Index g) const {
    return {rows_.data(), nullptr, table_->n(), table_->m(), table_->count(), g};
  }

 private:
  std::shared_ptr<const PatternTable> table_;
  Array<std::uint16_t> rows_;
};

}  // namespace sten
