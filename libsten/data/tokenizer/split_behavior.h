// SPDX-License-Identifier: Apache-2.0
// What becomes of the matches at which a text is split (SplitDelimiterBehavior of Hugging Face's
// tokenizers).
#pragma once
#include <cstdint>
#include <string_view>

namespace sten {

enum class SplitBehavior : std::uint8_t {
  removed,
  isolated,              // each match is a word
  merged_with_previous,  // a match belongs to the word before, unless that is a match
  merged_with_next,
  contiguous,  // adjacent matches are one word
};

// Joins adjacent segments of a text into words by the behavior. Calls word(part) in order.
template <class F>
class SegmentMerger {
 public:
  SegmentMerger(SplitBehavior behavior, F& word) : behavior_(behavior), word_(word) {}

  // Adjacent segments of one text, in order; empty ones are ignored.
  void add(std::string_view segment, bool is_match) {
    if (segment.empty()) return;
    if (behavior_ == SplitBehavior::isolated) return word_(segment);
    if (behavior_ == SplitBehavior::removed) {
      if (!is_match) word_(segment);
      return;
    }
    if (!last_.empty() && joins(is_match)) {
      last_ = {last_.data(), last_.size() + segment.size()};
    } else {
      finish();
      last_ = segment;
    }
    was_match_ = is_match;
  }
  void finish() {
    if (!last_.empty()) word_(last_);
    last_ = {};
  }

 private:
  // Whether a segment belongs to the word of the one before.
  bool joins(bool is_match) const {
    if (behavior_ == SplitBehavior::contiguous) return is_match == was_match_;
    return behavior_ == SplitBehavior::merged_with_previous ? is_match && !was_match_
                                                            : was_match_ && !is_match;
  }

  SplitBehavior behavior_;
  F& word_;
  std::string_view last_;
  bool was_match_ = false;
};

}  // namespace sten
