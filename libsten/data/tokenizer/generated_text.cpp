// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/generated_text.h"

#include <algorithm>

namespace sten {
namespace {

// Tokens before the first one that decode() gets, for tokenizers that treat the start of a text
// differently.
constexpr std::size_t context = 8;

// How decode() ends for an incomplete character.
constexpr std::string_view replacement = "\xef\xbf\xbd";

}  // namespace

GeneratedText::GeneratedText(const Tokenizer& tokenizer, std::span<const std::int64_t> before,
                             std::vector<std::string> stops)
    : tokenizer_(tokenizer), stops_(std::move(stops)) {
  const auto take = [&](std::size_t n) {
    n = std::min(n, before.size());
    tokens_.assign(before.end() - static_cast<std::ptrdiff_t>(n), before.end());
    return !tokenizer_.decode(tokens_).starts_with(replacement);
  };
  // More if they start within a character, which has up to 4 tokens.
  std::size_t n = context;
  while (n < context + 4 && !take(n)) ++n;
  done_ = tokens_.size();
}

// The text of the tokens after the first done_ ones, which starts a character. The text of a run of
// bytes can change with a later one (byte_fallback): then with fewer tokens before.
std::string GeneratedText::new_text() const {
  for (std::size_t begin = 0;; ++begin) {
    const std::string before = tokenizer_.decode(std::span(tokens_).subspan(begin, done_ - begin));
    const std::string all = tokenizer_.decode(std::span(tokens_).subspan(begin));
    if (begin == done_ || all.starts_with(before)) return all.substr(before.size());
  }
}

// Holds back the longest end that starts a stop text.
std::string GeneratedText::until_stop(const std::string& text) {
  pending_ += text;
  std::size_t end = pending_.size();
  for (const std::string& stop : stops_)
    if (const std::size_t at = pending_.find(stop); at < end) {
      end = at;
      is_stopped_ = true;
    }
  if (is_stopped_) return std::exchange(pending_, "").substr(0, end);
  for (const std::string& stop : stops_)
    for (std::size_t n = std::min(stop.size(), pending_.size()); n > 0; --n)
      if (pending_.ends_with(std::string_view(stop).substr(0, n))) {
        end = std::min(end, pending_.size() - n);
        break;
      }
  std::string out = pending_.substr(0, end);
  pending_.erase(0, end);
  return out;
}

std::string GeneratedText::add(TokenId token) {
  tokens_.push_back(token);
  if (is_stopped_) return "";
  const std::string text = new_text();
  if (text.empty() || text.ends_with(replacement)) return "";
  // The tokens of this text are the context of the next one.
  tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(done_));
  done_ = tokens_.size();
  return until_stop(text);
}

std::string GeneratedText::finish() {
  std::string text = is_stopped_ ? "" : until_stop(new_text());
  tokens_.clear();
  done_ = 0;
  return text + std::exchange(pending_, "");
}

}  // namespace sten
