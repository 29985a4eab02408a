// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/regex_syntax.h"

#include <fmt/format.h>

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/code_point_ranges.h"
#include "libsten/data/tokenizer/unicode.h"

namespace sten {
namespace {

// Far above the expressions of known tokenizers; a class is written in up to 20 KB.
constexpr std::size_t max_bytes = 2000;
class Translator {
 public:
  explicit Translator(std::string_view text) : text_(text) {}

  std::vector<std::string> run() {
    if (text_.size() > max_bytes)
      fail("regular expression of {} bytes: expected at most {}", text_.size(), max_bytes);
    while (at_ < text_.size()) {
      if (groups_.empty() && starts_look_ahead()) {
        end_alternatives();
        if (std::ranges::count(out_, "") > 0) unsupported(look_ahead, "supported once");
        out_.emplace_back();
        at_ += look_ahead.size() + (at_ + look_ahead.size() < text_.size());
        continue;
      }
      one();
    }
    if (!groups_.empty()) unsupported("(", "without an end");
    end_alternatives();
    return std::move(out_);
  }

 private:
  static constexpr std::string_view look_ahead = R"(\s+(?!\S))";

  [[noreturn]] void unsupported(std::string_view part, std::string_view why = "not supported") {
    fail("regular expression {}: {} is {}", quote(text_), quote(part), why);
  }
  bool starts_look_ahead() const {
    const std::string_view rest = text_.substr(at_);
    return (at_ == 0 || text_[at_ - 1] == '|') && rest.starts_with(look_ahead) &&
           (rest.size() == look_ahead.size() || rest[look_ahead.size()] == '|');
  }
  void end_alternatives() {
    if (joined_.ends_with('|')) joined_.pop_back();
    if (!joined_.empty()) out_.push_back(std::move(joined_));
    joined_.clear();
  }

  // Translates the next element.
  void one() {
    const char c = text_[at_];
    if (c == '(') return group();
    if (c == ')') {
      if (groups_.empty()) unsupported(")", "without a start");
      groups_.pop_back();
      joined_ += ')';
      ++at_;
    } else if (c == '[') {
      joined_ += written(char_class());
      last_ = 0;
    } else if (c == '\\') {
      joined_ += written(escape());
      last_ = 0;
    } else if (c == '.') {
      joined_ += written(complement({{'\n', '\n'}}));
      ++at_;
    } else if (c == '?' || c == '*' || c == '+' || c == '{') {
      quantifier();
    } else if (c == '|') {
      joined_ += c;
      last_ = 0;
      ++at_;
    } else if (c == '^' || c == '$') {
      unsupported(std::string_view(&c, 1));
    } else {
      literal();
    }
  }

  void group() {
    const std::string_view rest = text_.substr(at_);
    bool fold = !groups_.empty() && groups_.back();
    std::size_t bytes = 1;
    if (rest.starts_with("(?:")) bytes = 3;
    if (rest.starts_with("(?i:")) bytes = 4, fold = true;
    if (bytes == 1 && rest.starts_with("(?"))
      unsupported(rest.substr(0, std::min<std::size_t>(rest.size(), 4)));
    joined_ += bytes == 4 ? "(?i:" : "(?:";
    groups_.push_back(fold);
    last_ = 0;
    at_ += bytes;
  }

  void quantifier() {
    std::size_t end = at_ + 1;
    if (text_[at_] == '{') {
      while (end < text_.size() && ((text_[end] >= '0' && text_[end] <= '9') || text_[end] == ','))
        ++end;
      if (end == text_.size() || text_[end] != '}' || end == at_ + 1 || text_[at_ + 1] == ',')
        unsupported(text_.substr(at_, end + 1 - at_));
      ++end;
    }
    if (end < text_.size() && text_[end] == '?' && text_[at_] != '{') ++end;
    if (end < text_.size() && std::string_view("?*+{").find(text_[end]) != std::string_view::npos)
      unsupported(text_.substr(at_, end + 1 - at_));
    joined_.append(text_, at_, end - at_);
    last_ = 0;
    at_ = end;
  }

  void literal() {
    const std::int32_t c = next_code_point(text_, at_);
    if (c < 0) unsupported("a byte", "not UTF-8");
    // Without case, Oniguruma also matches characters that stand for two letters, as U+FB01.
    if (!groups_.empty() && groups_.back()) {
      constexpr std::string_view pairs[] = {"ff", "fi", "fl", "ss", "st"};
      const std::string two = {static_cast<char>(last_ | 32), static_cast<char>(c | 32)};
      if (c > 127 || std::ranges::count(pairs, two) > 0)
        unsupported("(?i:", "supported for ASCII letters only, without ff, fi, fl, ss and st");
    }
    last_ = c < 128 ? static_cast<char>(c) : '\0';
    joined_ += fmt::format("\\x{{{:x}}}", c);
  }

  // The code points of an escape.
  std::vector<CodePoints> escape() {
    const std::size_t begin = at_++;
    if (at_ == text_.size()) unsupported("\\");
    const char c = text_[at_++];
    constexpr std::string_view controls = "tnvfr";  // from U+0009
    if (const auto k = controls.find(c); k != std::string_view::npos) {
      const auto code = static_cast<std::int32_t>(9 + k);
      return {{code, code}};
    }
    const auto& is = code_points_of;
    if (c == 's') return spaces();
    if (c == 'S') return complement(spaces());
    if (c == 'd') return is("Nd");
    if (c == 'D') return complement(is("Nd"));
    if (c == 'p' || c == 'P') {
      const std::size_t close = std::min(text_.find('}', at_), text_.size());
      const std::string_view all = text_.substr(begin, close + 1 - begin);
      std::string_view name = text_.substr(at_, close - at_);
      if (!name.starts_with('{')) unsupported(all);
      name.remove_prefix(1);
      const bool negated = name.starts_with('^');
      if (negated) name.remove_prefix(1);
      const std::vector<CodePoints> found = is(name);
      if (name.empty() || found.empty()) unsupported(all);
      at_ = close + 1;
      return negated != (c == 'P') ? complement(found) : found;
    }
    if ((c & 0x80) || is_word_character(c)) unsupported(text_.substr(begin, 2));
    return {{c, c}};
  }

  std::vector<CodePoints> char_class() {
    const std::size_t begin = at_++;
    const bool negated = at_ < text_.size() && text_[at_] == '^';
    if (negated) ++at_;
    std::vector<CodePoints> all;
    bool is_first = true;
    for (;; is_first = false) {
      if (at_ >= text_.size()) unsupported(text_.substr(begin), "without an end");
      const std::string_view rest = text_.substr(at_);
      if (rest[0] == ']' && !is_first) break;
      if (rest[0] == '[' || rest[0] == ']' || rest.starts_with("&&"))
        unsupported(rest.substr(0, rest[0] == '&' ? 2 : 1), "not supported in a class");
      const std::vector<CodePoints> low = member();
      if (text_.substr(at_).starts_with('-') && !text_.substr(at_).starts_with("-]")) {
        ++at_;
        if (at_ >= text_.size() || text_[at_] == '[')
          unsupported("-", "not supported before a class");
        const std::vector<CodePoints> high = member();
        if (low.size() != 1 || high.size() != 1 || low[0].first != low[0].last ||
            high[0].first != high[0].last || high[0].first < low[0].first)
          unsupported("-", "not supported between these characters");
        all.push_back({low[0].first, high[0].first});
      } else {
        all.insert(all.end(), low.begin(), low.end());
      }
    }
    ++at_;
    all = negated ? complement(all) : merged(std::move(all));
    if (all.empty()) unsupported(text_.substr(begin, at_ - begin), "empty");
    return all;
  }

  // A character or an escape of a class.
  std::vector<CodePoints> member() {
    if (text_[at_] == '\\') return escape();
    const std::int32_t c = next_code_point(text_, at_);
    if (c < 0) unsupported("a byte", "not UTF-8");
    return {{c, c}};
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> out_;
  std::string joined_;        // alternatives since the last look-ahead
  std::vector<bool> groups_;  // open ones: whether case is ignored
  char last_ = 0;             // the literal before, or 0
};

}  // namespace

std::vector<std::string> re2_alternatives(std::string_view expression) {
  return Translator(expression).run();
}

}  // namespace sten
