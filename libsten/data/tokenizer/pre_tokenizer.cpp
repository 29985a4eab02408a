// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/pre_tokenizer.h"

#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/bert_text.h"
#include "libsten/data/tokenizer/gpt_words.h"
#include "libsten/data/tokenizer/normalizer.h"

namespace sten {
namespace {

// Calls next(part, is_first) for each part of a text.
template <class F>
struct Split {
  std::string_view text;
  bool is_first;
  const char*& start;  // of the text that has the parts
  F& next;

  void operator()(const PatternSplit& s) const {
    SegmentMerger merger(s.behavior, next);
    std::size_t begin = 0;
    while (const auto found = s.pattern.find(text, begin)) {
      merger.add(text.substr(begin, found->begin - begin), s.invert);
      merger.add(text.substr(found->begin, found->end - found->begin), !s.invert);
      begin = found->end;
    }
    merger.add(text.substr(begin), s.invert);
    merger.finish();
  }

  void operator()(const CharacterSplit& s) const {
    SegmentMerger merger(s.behavior, next);
    std::size_t begin = 0;
    for (std::size_t i = 0; i < text.size();) {
      const std::size_t at = i;
      if (!s.is_match(next_code_point(text, i))) continue;
      merger.add(text.substr(begin, at - begin), false);
      merger.add(text.substr(at, i - at), true);
      begin = i;
    }
    merger.add(text.substr(begin), false);
    merger.finish();
  }

  void operator()(const BertSplit&) const { for_bert_words(text, std::ref(next)); }

  void operator()(const Metaspace& m) const {
    std::string marked = replaced(text, {TextPattern::literal(" "), m.replacement});
    if ((m.prepend == Metaspace::always || (m.prepend == Metaspace::first && is_first)) &&
        !marked.starts_with(m.replacement))
      marked.insert(0, m.replacement);
    start = marked.data();
    if (!m.split) return next(marked);
    SegmentMerger merger(SplitBehavior::merged_with_next, next);
    const std::string_view all = marked;
    for (std::size_t begin = 0; begin < all.size();) {
      const std::size_t at = std::min(all.find(m.replacement, begin), all.size());
      merger.add(all.substr(begin, at - begin), false);
      begin = std::min(at + m.replacement.size(), all.size());
      merger.add(all.substr(at, begin - at), true);
    }
    merger.finish();
  }

  void operator()(const ByteLevelSplit& s) const {
    std::string prefixed;
    std::string_view all = text;
    if (s.prefix_space && !all.starts_with(' ')) all = prefixed.append(1, ' ').append(all);
    if (!s.gpt_words) return next(all);
    for_gpt_words(all, std::ref(next));
  }
};

}  // namespace

void PreTokenizer::operator()(std::string_view text, bool is_first, const Word& word) const {
  if (!text.empty()) split(0, text, is_first, word);
}

void PreTokenizer::split(std::size_t step, std::string_view text, bool is_first,
                         const Word& word) const {
  if (step == steps_.size()) return word(text);
  const char* start = text.data();
  auto next = [&](std::string_view part) {
    if (step + 1 == steps_.size()) return word(part);
    split(step + 1, part, is_first && part.data() == start, word);
  };
  std::visit(Split<decltype(next)>{text, is_first, start, next}, steps_[step]);
}

bool PreTokenizer::breaks_at_lines() const {
  bool breaks = false;
  for (const PreTokenizerStep& step : steps_) {
    if (std::holds_alternative<Metaspace>(step)) return false;
    if (const auto* s = std::get_if<ByteLevelSplit>(&step)) {
      if (s->prefix_space) return false;
      breaks = breaks || s->gpt_words;
    } else if (const auto* p = std::get_if<PatternSplit>(&step)) {
      if (!breaks && !p->pattern.breaks_at_lines()) return false;
      breaks = breaks || p->behavior == SplitBehavior::isolated ||
               (p->behavior == SplitBehavior::removed && p->invert);
    } else if (std::holds_alternative<BertSplit>(step)) {
      breaks = true;
    }
  }
  return breaks;
}

}  // namespace sten
