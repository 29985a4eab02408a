// SPDX-License-Identifier: Apache-2.0
// Ranks of the subword pairs that byte-pair encoding merges.
#pragma once
#include <bit>
#include <vector>

#include "libsten/data/tokenizer/tokenizer.h"

namespace sten {

struct BpeMerge {
  std::int32_t rank = 0;
  TokenId merged = 0;
};

// A hash table with open addressing, since each pair of neighbours in each word is looked up.
class MergeRanks {
 public:
  explicit MergeRanks(std::size_t merges) : slots_(std::bit_ceil(2 * merges + 2)) {}

  // False if the pair exists.
  bool add(TokenId a, TokenId b, BpeMerge m) {
    Slot& s = slot(key_of(a, b));
    if (s.key == key_of(a, b)) return false;
    s = {key_of(a, b), m};
    return true;
  }
  const BpeMerge* find(TokenId a, TokenId b) const {
    const Slot& s = const_cast<MergeRanks*>(this)->slot(key_of(a, b));
    return s.key == key_of(a, b) ? &s.merge : nullptr;
  }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};  // ids are not negative
  struct Slot {
    std::uint64_t key = none;
    BpeMerge merge;
  };
  static std::uint64_t key_of(TokenId a, TokenId b) {
    return std::uint64_t{static_cast<std::uint32_t>(a)} << 32 | static_cast<std::uint32_t>(b);
  }
  Slot& slot(std::uint64_t key) {
    const std::size_t last = slots_.size() - 1;
    std::size_t at = ((key ^ key >> 29) * 0x9e3779b97f4a7c15u) >> 20 & last;
    while (slots_[at].key != none && slots_[at].key != key) at = (at + 1) & last;
    return slots_[at];
  }

  std::vector<Slot> slots_;
};

}  // namespace sten
