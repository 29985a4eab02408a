// SPDX-License-Identifier: Apache-2.0
// Patterns of a tokenizer.json: literal texts, and regular expressions of Oniguruma, which
// Hugging Face's tokenizers use.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
class RE2;
}

namespace sten {

class TextPattern {
 public:
  struct Match {
    std::size_t begin, end;
  };

  static TextPattern literal(std::string text);
  // Error that names the part of the expression that is not supported. The alternative \s+(?!\S) of
  // the whole expression is supported; RE2 has no look-ahead. It equals: all white space but the
  // last character if text follows, and all of it at the end of the text.
  static TextPattern regex(std::string_view expression);

  // The first match at or after `from`, which is not empty. As in Perl, the first alternative that
  // matches decides. An empty literal is never found.
  std::optional<Match> find(std::string_view text, std::size_t from) const;
  // The literal or the expression.
  const std::string& source() const { return source_; }
  // Whether find() starts again at each line feed after an ASCII letter, for any text.
  bool breaks_at_lines() const;
  bool is_literal() const { return alternatives_.empty(); }

 private:
  explicit TextPattern(std::string source) : source_(std::move(source)) {}
  // The end of the match that begins at `at`; 0 if there is none.
  std::size_t match_at(std::string_view text, std::size_t at) const;

  std::string source_;
  // In order, tried one after the other; nullptr: \s+(?!\S).
  std::vector<std::shared_ptr<const re2::RE2>> alternatives_;
};

}  // namespace sten
