// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/jinja/jinja_lexer.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/data/jinja/jinja_value.h"

namespace sten::jinja {
namespace {

constexpr std::size_t most_tokens = 1 << 20;

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& name) : all_(text), name_(name) {
    if (all_.ends_with('\n')) all_.remove_suffix(1);
  }

  std::vector<Token> run() {
    while (at_ < all_.size()) {
      const std::size_t begin = next_tag();
      add_text(begin);
      if (begin == all_.size()) break;
      take_tag();
      if (out_.size() > most_tokens) fail("too long");
    }
    add(TokenKind::end, "");
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    fail_usage("{}: line {}: {}", name_, line_, why);
  }
  void add(TokenKind kind, std::string text) { out_.push_back({kind, std::move(text), line_}); }
  bool sees(std::string_view what) const { return all_.substr(at_).starts_with(what); }
  char here() const { return at_ < all_.size() ? all_[at_] : '\0'; }
  void move_to(std::size_t to) {
    line_ += static_cast<int>(std::count(all_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         all_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    at_ = to;
  }

  std::size_t next_tag() const {
    for (std::size_t i = at_; i + 1 < all_.size(); ++i)
      if (all_[i] == '{' && (all_[i + 1] == '{' || all_[i + 1] == '%' || all_[i + 1] == '#'))
        return i;
    return all_.size();
  }

  // The text before a tag, or the end.
  void add_text(std::size_t end) {
    std::string_view text = all_.substr(at_, end - at_);
    const char kind = end < all_.size() ? all_[end + 1] : '\0';
    const char mark = end + 2 < all_.size() ? all_[end + 2] : '\0';
    if (strips_next_) text.remove_prefix(std::min(text.size(), first_black(text)));
    const bool was_at_line = at_ == 0 || all_[at_ - 1] == '\n';
    if (end < all_.size() && mark == '-') {
      while (!text.empty() && is_white(text.back())) text.remove_suffix(1);
    } else if ((kind == '%' || kind == '#') && mark != '+') {  // lstrip_blocks
      std::string_view rest = text;
      while (!rest.empty() && (rest.back() == ' ' || rest.back() == '\t')) rest.remove_suffix(1);
      if (rest.empty() ? was_at_line && !strips_next_ : rest.back() == '\n') text = rest;
    }
    if (!text.empty()) add(TokenKind::text, std::string(text));
    move_to(end);
  }
  static std::size_t first_black(std::string_view text) {
    std::size_t i = 0;
    while (i < text.size() && is_white(text[i])) ++i;
    return i;
  }

  void take_tag() {
    const bool is_print = all_[at_ + 1] == '{', is_comment = all_[at_ + 1] == '#';
    const std::string_view end = is_print ? "}}" : is_comment ? "#}" : "%}";
    if (!is_comment) add(is_print ? TokenKind::print_begin : TokenKind::block_begin, "");
    move_to(at_ + 2);
    if (here() == '-' || here() == '+') move_to(at_ + 1);
    strips_next_ = false;
    bool keeps_line_feed = is_print;
    if (is_comment) {
      const std::size_t close = all_.find("#}", at_);
      if (close == all_.npos) fail("unterminated comment");
      strips_next_ = close > at_ && all_[close - 1] == '-';
      move_to(close);
    } else {
      take_expression(end);
      if (here() == '-') {
        strips_next_ = true;
        move_to(at_ + 1);
      } else if (here() == '+') {
        keeps_line_feed = true;
        move_to(at_ + 1);
      }
      add(is_print ? TokenKind::print_end : TokenKind::block_end, "");
    }
    move_to(at_ + 2);
    if (!keeps_line_feed && !strips_next_ && here() == '\n') move_to(at_ + 1);  // trim_blocks
  }

  void take_expression(std::string_view end) {
    int open = 0;  // braces of dictionaries
    while (true) {
      while (at_ < all_.size() && is_white(here())) move_to(at_ + 1);
      if (at_ >= all_.size()) fail("unterminated tag");
      const bool is_end =
          sees(end) || ((here() == '-' || here() == '+') && all_.substr(at_ + 1).starts_with(end));
      if (is_end && open == 0) return;
      const char c = here();
      if (c == '\'' || c == '"') {
        take_string(c);
      } else if (is_word(c)) {
        const bool is_number = is_digit(c);
        std::size_t word_end = is_number ? number_end() : at_;
        while (!is_number && word_end < all_.size() && is_word(all_[word_end])) ++word_end;
        std::string word(all_.substr(at_, word_end - at_));
        if (is_number) std::erase(word, '_');
        add(is_number ? TokenKind::number : TokenKind::name, std::move(word));
        move_to(word_end);
      } else {
        open += (c == '{') - (c == '}');
        take_symbol();
      }
      if (out_.size() > most_tokens) fail("too long");
    }
  }
  // Digits, with a fraction and an exponent unless they follow a point, as in x.0.
  std::size_t number_end() const {
    std::size_t i = at_;
    const auto digit_at = [&](std::size_t k) { return k < all_.size() && is_digit(all_[k]); };
    const auto digits = [&] {
      while (digit_at(i) || (i < all_.size() && all_[i] == '_' && digit_at(i + 1))) ++i;
    };
    digits();
    if (all_[at_ - 1] == '.') return i;
    if (i < all_.size() && all_[i] == '.' && digit_at(i + 1)) {
      ++i;
      digits();
    }
    if (i + 1 < all_.size() && (all_[i] == 'e' || all_[i] == 'E')) {
      const std::size_t exponent = i + (all_[i + 1] == '+' || all_[i + 1] == '-' ? 2 : 1);
      if (digit_at(exponent)) {
        i = exponent;
        digits();
      }
    }
    return i;
  }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_word(char c) {
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  }

  void take_symbol() {
    for (const std::string_view two : {"==", "!=", "<=", ">=", "//", "**"})
      if (sees(two)) {
        add(TokenKind::symbol, std::string(two));
        return move_to(at_ + 2);
      }
    if (std::string_view("+-*/%~<>=()[]{}.,:|").find(here()) == std::string_view::npos)
      fail("unexpected character");
    add(TokenKind::symbol, std::string(1, here()));
    move_to(at_ + 1);
  }

  void take_string(char quote) {
    std::string text;
    std::size_t i = at_ + 1;
    for (; i < all_.size() && all_[i] != quote; ++i) {
      if (all_[i] != '\\' || i + 1 == all_.size()) {
        text += all_[i];
        continue;
      }
      const char c = all_[++i];
      constexpr std::string_view from = "ntr\\'\"", to = "\n\t\r\\'\"";
      if (const std::size_t known = from.find(c); known != from.npos) {
        text += to[known];
      } else if (c == 'u' || c == 'x') {
        const std::size_t digits = c == 'u' ? 4 : 2;
        if (i + digits >= all_.size()) fail("invalid escape");
        const std::string code =
            std::string(4 - digits, '0') + std::string(all_.substr(i + 1, digits));
        try {
          text += Value::parse("\"\\u" + code + "\"").get<std::string>();
        } catch (const Value::exception&) {
          fail("invalid escape");
        }
        i += digits;
      } else {
        (text += '\\') += c;
      }
    }
    if (i == all_.size()) fail("unterminated string");
    add(TokenKind::string, std::move(text));
    move_to(i + 1);
  }

  std::string_view all_;
  const std::string& name_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool strips_next_ = false;
  std::vector<Token> out_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view text, const std::string& name) {
  return Lexer(text, name).run();
}

}  // namespace sten::jinja
