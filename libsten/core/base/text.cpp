// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "libsten/core/base/utf8.h"

namespace sten {
namespace {

// Control characters, and the overrides and isolates that reorder displayed text.
bool drives_terminal(std::int32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) ||
         (c >= 0x2066 && c <= 0x2069);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Matches c against the set that starts at pattern[p] == '[', and sets `end` past its ']'. A '['
// that is never closed stands for itself. `last` is the position of the pattern's last ']', which
// avoids repeated searches.
bool set_match(std::string_view pattern, std::size_t last, std::size_t p, char c,
               std::size_t& end) {
  std::size_t i = p + 1;
  const bool negate = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  i += negate;
  // A ']' in first position is a member.
  const std::size_t close =
      last == pattern.npos || last <= i ? pattern.npos : pattern.find(']', i + 1);
  if (close == std::string_view::npos) {
    end = p + 1;
    return c == '[';
  }
  end = close + 1;
  bool hit = false;
  for (; i < close; ++i) {
    if (i + 2 < close && pattern[i + 1] == '-') {
      hit |= pattern[i] <= c && c <= pattern[i + 2];
      i += 2;
    } else {
      hit |= pattern[i] == c;
    }
  }
  return hit != negate;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t start = i;
    const std::int32_t code = next_code_point(text, i);
    if (code < 0) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[start]));
    } else if (code == '\n') {
      out += "\\n";
    } else if (code == '\t') {
      out += "\\t";
    } else if (drives_terminal(code)) {
      out += code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code);
    } else {
      out += text.substr(start, i - start);
    }
  }
  return out;
}

std::string quote(std::string_view text) {
  // Longer quotes add no information, and errors should stay lines whatever text they quote.
  constexpr std::size_t most = 300;
  if (text.size() <= most) return fmt::format("'{}'", printable(text));
  std::size_t end = most;  // not within a code point
  while (end > most - 4 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return fmt::format("'{}'...", printable(text.substr(0, end)));
}

bool has_control_characters(std::string_view utf8) {
  for (std::size_t i = 0; i < utf8.size();) {
    const std::int32_t code = next_code_point(utf8, i);
    if (code < 0 || drives_terminal(code)) return true;
  }
  return false;
}

bool natural_less(std::string_view a, std::string_view b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (is_digit(a[i]) && is_digit(b[j])) {
      const auto skip = [](std::string_view s, std::size_t k, bool zeros) {
        while (k < s.size() && (zeros ? s[k] == '0' : is_digit(s[k]))) ++k;
        return k;
      };
      const std::size_t i0 = skip(a, i, true), j0 = skip(b, j, true);
      const std::size_t i1 = skip(a, i0, false), j1 = skip(b, j0, false);
      if (i1 - i0 != j1 - j0) return i1 - i0 < j1 - j0;
      const int order = a.substr(i0, i1 - i0).compare(b.substr(j0, j1 - j0));
      if (order != 0) return order < 0;
      i = i1;
      j = j1;
    } else if (a[i] != b[j]) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    } else {
      ++i;
      ++j;
    }
  }
  if (i < a.size() || j < b.size()) return i == a.size();
  return a < b;  // equal except for leading zeros
}

bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, retry = 0;
  const std::size_t last = pattern.rfind(']');
  while (t < text.size()) {
    std::size_t after = p + 1;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      retry = t;
    } else if (p < pattern.size() &&
               (pattern[p] == '?' ||
                (pattern[p] == '[' ? set_match(pattern, last, p, text[t], after)
                                   : pattern[p] == text[t]))) {
      p = after;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++retry;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool has_glob_characters(std::string_view pattern) {
  return pattern.find_first_of("*?[") != std::string_view::npos;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  // A long word may differ in a third of its letters. Very long words are not compared.
  if (word.size() > 256) return "";
  std::size_t best = std::max<std::size_t>(2, word.size() / 3) + 1;
  const std::string* nearest = nullptr;
  // Limit of work, so that a user never waits for a suggestion.
  std::size_t steps = std::size_t{1} << 28;
  for (const std::string& c : candidates) {
    if (c.size() > word.size() + best || word.size() > c.size() + best) continue;
    const std::size_t cost = (word.size() + 1) * (c.size() + 1);
    if (cost > steps) break;
    steps -= cost;
    const std::size_t d = edit_distance(word, c);
    if (d < best && d < std::max(word.size(), c.size())) {
      best = d;
      nearest = &c;
    }
  }
  return nearest ? ", did you mean " + quote(*nearest) + "?" : "";
}

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates,
                                 std::size_t count) {
  std::vector<std::pair<std::size_t, std::size_t>> by_distance;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::string& c = candidates[i];
    const std::size_t longest = std::max(word.size(), c.size());
    by_distance.emplace_back(longest > 256 ? longest : edit_distance(word, c), i);
  }
  std::ranges::sort(by_distance);
  std::vector<std::string> all;
  for (std::size_t k = 0; k < std::min(count, by_distance.size()); ++k)
    all.push_back(candidates[by_distance[k].second]);
  return all;
}

std::string human_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  static constexpr const char* units[] = {"kB", "MB", "GB", "TB", "PB", "EB"};
  double v = static_cast<double>(bytes);
  int u = -1;
  while (v >= 999.5) {
    v /= 1000;
    ++u;
  }
  return v < 9.995   ? fmt::format("{:.2f} {}", v, units[u])
         : v < 99.95 ? fmt::format("{:.1f} {}", v, units[u])
                     : fmt::format("{:.0f} {}", v, units[u]);
}

bool parse_number(std::string_view text, double& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

bool parse_integer(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string without_percent(std::string_view text) {
  const std::string_view digits = text.substr(0, text.size() - text.ends_with('%'));
  double value = 0;
  if (digits.size() == text.size() ||
      digits.find_first_not_of("0123456789.") != std::string_view::npos ||
      !parse_number(std::string(digits) + "e-2", value))
    return std::string(text);
  return fmt::format("{}", value);
}

std::string recorded_text(std::string_view text) {
  return is_utf8(text) ? std::string(text) : printable(text);
}

}  // namespace sten
