// SPDX-License-Identifier: Apache-2.0
// Search for the entries that are prefixes of a text.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace sten {

// Sorted entries, narrowed byte by byte: a search takes time in proportion to the matching bytes
// times the logarithm of the number of entries.
class LongestPrefix {
 public:
  struct Match {
    std::size_t bytes = 0;  // 0: no entry
    std::int32_t value = 0;
  };

  // The entry must outlive this object. Empty entries are never found; of equal ones, the first is.
  void add(std::string_view entry, std::int32_t value) {
    if (!entry.empty()) all_.push_back({entry, value});
  }
  // Call after the last add().
  void sort() { std::ranges::stable_sort(all_, {}, &Entry::text); }

  // The longest entry that is a prefix of the text.
  Match find(std::string_view text) const {
    Match best;
    for_each(text, [&](Match m) { best = m; });
    return best;
  }

  // Calls f(match) for each entry that is a prefix of the text, the shortest first.
  template <class F>
  void for_each(std::string_view text, F&& f) const {
    auto begin = all_.begin(), end = all_.end();
    for (std::size_t at = 0; at < text.size() && begin != end; ++at) {
      // The range of entries that continue with this byte; entries that end here come first.
      const auto byte = [at](const Entry& e) {
        return e.text.size() > at ? static_cast<unsigned char>(e.text[at]) : -1;
      };
      const int wanted = static_cast<unsigned char>(text[at]);
      if (byte(*begin) != wanted)
        begin = std::partition_point(begin, end, [&](const Entry& e) { return byte(e) < wanted; });
      if (begin == end || byte(*begin) != wanted) break;
      if (byte(*(end - 1)) != wanted)
        end = std::partition_point(begin, end, [&](const Entry& e) { return byte(e) <= wanted; });
      if (begin->text.size() == at + 1) f(Match{at + 1, begin->value});
    }
  }

 private:
  struct Entry {
    std::string_view text;
    std::int32_t value;
  };
  std::vector<Entry> all_;
};

}  // namespace sten
