// SPDX-License-Identifier: Apache-2.0
// Keys of cached plans.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "libsten/core/dispatch/signature.h"

namespace sten {

// Writes a signature as integers; short ones without allocation.
class KeyWriter {
 public:
  void add(std::uint32_t v) {
    if (count_ < inline_count) {
      short_[count_++] = v;
      return;
    }
    if (long_.empty()) long_.assign(short_, short_ + inline_count);
    long_.push_back(v);
    ++count_;
  }
  void add(const OutSignature& o) {
    add(o.inline_by.id());
    add(o.tmp.id());
    add(std::uint32_t{o.streaming} | std::uint32_t{o.local} << 1);
  }
  std::span<const std::uint32_t> key() const {
    return {count_ <= inline_count ? short_ : long_.data(), count_};
  }

 private:
  static constexpr std::size_t inline_count = 40;
  std::uint32_t short_[inline_count];
  std::vector<std::uint32_t> long_;
  std::size_t count_ = 0;
};

inline void write_key(KeyWriter& key, Name op, Device device, std::size_t inputs) {
  key.add(op.id());
  key.add(static_cast<std::uint32_t>(device));
  key.add(static_cast<std::uint32_t>(inputs));
}

}  // namespace sten
