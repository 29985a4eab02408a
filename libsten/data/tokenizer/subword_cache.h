// SPDX-License-Identifier: Apache-2.0
// Cache of recent words and their ids, since texts repeat words.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "libsten/data/tokenizer/tokenizer.h"

namespace sten {

class SubwordCache {
 public:
  static constexpr std::size_t longest = 30;  // bytes of a cached word

  // `text`: bytes of the text to encode.
  explicit SubwordCache(std::size_t text)
      : slots_(std::bit_ceil(std::clamp(text / 8, std::size_t{16}, most))) {}

  // Appends the ids of a word to `out`: cached ones, or those that compute(word, out) appends.
  template <class F>
  void append(std::string_view word, std::vector<TokenId>& out, F&& compute) {
    if (word.size() > longest) return compute(word, out);
    Slot& s = slots_[hash_of(word) & (slots_.size() - 1)];
    if (s.bytes == word.size() && std::memcmp(s.word.data(), word.data(), word.size()) == 0) {
      out.insert(out.end(), s.ids.begin(), s.ids.begin() + s.count);
      return;
    }
    const std::size_t before = out.size();
    compute(word, out);
    const std::size_t n = out.size() - before;
    if (n > s.ids.size()) return;
    s.bytes = static_cast<std::uint8_t>(word.size());
    s.count = static_cast<std::uint8_t>(n);
    std::memcpy(s.word.data(), word.data(), word.size());
    std::copy_n(out.begin() + static_cast<std::ptrdiff_t>(before), n, s.ids.begin());
  }

 private:
  static constexpr std::size_t most = 1 << 13;  // 512 KB, which fit the L2 cache
  struct Slot {
    std::uint8_t bytes = 0xff, count = 0;
    std::array<char, longest> word;
    std::array<TokenId, 8> ids;
  };

  // FNV-1a over 8 bytes at a time, mixed.
  static std::uint64_t hash_of(std::string_view word) {
    std::uint64_t h = 0xcbf29ce484222325u ^ word.size();
    for (std::size_t i = 0; i < word.size(); i += 8) {
      std::uint64_t v = 0;
      std::memcpy(&v, word.data() + i, std::min<std::size_t>(8, word.size() - i));
      h = (h ^ v) * 0x9e3779b97f4a7c15u;
      h ^= h >> 32;
    }
    return h;
  }

  std::vector<Slot> slots_;
};

}  // namespace sten
