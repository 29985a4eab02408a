// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/unigram.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/utf8.h"

namespace sten {
namespace {

// As in SentencePiece: the score of an unknown character is that much below the lowest one.
constexpr double unknown_penalty = 10;

// The best split that ends at a byte.
struct Node {
  double score = 0;
  std::size_t begin = std::string_view::npos;  // of the last subword; npos: no split ends here
  TokenId id = -1;
};

}  // namespace

Unigram::Unigram(const SubwordVocabulary& subwords, std::vector<double> scores,
                 UnigramOptions options)
    : file_(subwords.file()), scores_(std::move(scores)), options_(options) {
  double lowest = -never;
  for (const double s : scores_)
    if (s != never) lowest = std::min(lowest, s);
  unknown_score_ = (lowest == -never ? 0 : lowest) - unknown_penalty;
  fallback_ids_.fill(-1);
  if (options.byte_fallback) fallback_ids_ = subwords.byte_ids();
  texts_.reserve(scores_.size());
  for (TokenId id = 0; id < std::ssize(scores_); ++id) {
    texts_.emplace_back(subwords.entry(id));
    if (scores_[static_cast<std::size_t>(id)] != never) prefixes_.add(texts_.back(), id);
  }
  prefixes_.sort();
}

void Unigram::append(std::string_view word, std::vector<TokenId>& out) const {
  std::vector<Node> best(word.size() + 1);
  for (std::size_t at = 0; at < word.size();) {
    std::size_t next = at;
    next_code_point(word, next);
    bool has_character = false;
    const auto offer = [&](std::size_t end, double score, TokenId id) {
      Node& node = best[end];
      const double sum = score + best[at].score;
      if (node.begin == std::string_view::npos || sum > node.score) node = {sum, at, id};
    };
    prefixes_.for_each(word.substr(at), [&](LongestPrefix::Match m) {
      offer(at + m.bytes, scores_[static_cast<std::size_t>(m.value)], m.value);
      has_character = has_character || at + m.bytes == next;
    });
    if (!has_character) {
      if (!options_.unknown)
        fail("{}: missing subword for {}", file_, quote(word.substr(at, next - at)));
      offer(next, unknown_score_, *options_.unknown);
    }
    at = next;
  }
  // From the end: adjacent unknown ones are one.
  std::vector<std::pair<std::size_t, std::size_t>> parts;
  std::vector<TokenId> ids;
  for (std::size_t end = word.size(); end > 0;) {
    const Node& node = best[end];
    const bool joins =
        !ids.empty() && options_.unknown && node.id == *options_.unknown && ids.back() == node.id;
    if (joins) {
      parts.back().first = node.begin;
    } else {
      parts.emplace_back(node.begin, end);
      ids.push_back(node.id);
    }
    end = node.begin;
  }
  for (std::size_t i = ids.size(); i-- > 0;) {
    if (options_.unknown && ids[i] == *options_.unknown)
      append_unknown(word.substr(parts[i].first, parts[i].second - parts[i].first), out);
    else
      out.push_back(ids[i]);
  }
}

void Unigram::append_unknown(std::string_view run, std::vector<TokenId>& out) const {
  const auto id = [&](char c) { return fallback_ids_[static_cast<unsigned char>(c)]; };
  const bool is_entry = run == texts_[static_cast<std::size_t>(*options_.unknown)];
  if (options_.byte_fallback && !is_entry &&
      std::ranges::all_of(run, [&](char c) { return id(c) >= 0; })) {
    for (const char c : run) out.push_back(id(c));
    return;
  }
  out.push_back(*options_.unknown);
}

}  // namespace sten
