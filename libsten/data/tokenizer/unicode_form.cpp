// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/unicode_form.h"

#include <algorithm>
#include <array>
#include <vector>

#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/unicode.h"

namespace sten {
namespace {

// Code points from one starter to the next, in canonical order.
class Segment {
 public:
  explicit Segment(bool compose) : compose_(compose) {}

  void add(std::int32_t c, std::string& out) {
    const int order = combining_class(c);
    if (order == 0 && !all_.empty()) {
      settle();
      // Two adjacent starters may compose, as the parts of a Hangul syllable.
      const std::int32_t both =
          compose_ && all_.size() == 1 ? compose(all_[0].c, c) : std::int32_t{-1};
      if (both >= 0) {
        all_[0].c = both;
        return;
      }
      write(out);
    }
    all_.push_back({order, c});
  }
  void flush(std::string& out) {
    settle();
    write(out);
  }

 private:
  struct Mark {
    int order;
    std::int32_t c;
  };

  // Sorts, and composes marks with the starter.
  void settle() {
    std::ranges::stable_sort(all_, {}, &Mark::order);
    if (!compose_ || all_.size() < 2 || all_[0].order != 0) return;
    std::size_t kept = 1;
    for (std::size_t i = 1; i < all_.size(); ++i) {
      const bool blocked = kept > 1 && all_[kept - 1].order >= all_[i].order;
      const std::int32_t both = blocked ? -1 : compose(all_[0].c, all_[i].c);
      if (both >= 0)
        all_[0].c = both;
      else
        all_[kept++] = all_[i];
    }
    all_.resize(kept);
  }
  void write(std::string& out) {
    for (const Mark& m : all_) append_utf8(m.c, out);
    all_.clear();
  }

  bool compose_;
  std::vector<Mark> all_;
};

// Bytes at the start that every form leaves unchanged: ASCII, for the composed canonical form code
// points below U+0300, without the last one, with which a mark may compose.
std::size_t plain_bytes(std::string_view text, UnicodeForm form) {
  const unsigned limit = form.compose && !form.compatible ? 0xcc : 0x80;
  std::size_t n = 0;
  while (n < text.size() && static_cast<unsigned char>(text[n]) < limit) ++n;
  return n == text.size() ? n : last_character(text.substr(0, n));
}

}  // namespace

std::string in_form(std::string_view text, UnicodeForm form) {
  std::string out;
  out.reserve(text.size());
  Segment segment(form.compose);
  std::array<std::int32_t, max_decomposition> parts;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t plain = plain_bytes(text.substr(i), form); plain > 0) {
      segment.flush(out);
      out.append(text, i, plain);
      i += plain;
      continue;
    }
    const int n = decompose(next_code_point(text, i), parts, form.compatible);
    for (int k = 0; k < n; ++k) segment.add(parts[static_cast<std::size_t>(k)], out);
  }
  segment.flush(out);
  return out;
}

}  // namespace sten
