// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/json_steps.h"
#include "libsten/data/tokenizer/unicode.h"

namespace sten::tokenizer_detail {
namespace {

SplitBehavior behavior_of(const JsonReader& in) {
  const std::string text = in.text();
  if (text == "Removed") return SplitBehavior::removed;
  if (text == "Isolated") return SplitBehavior::isolated;
  if (text == "MergedWithPrevious") return SplitBehavior::merged_with_previous;
  if (text == "MergedWithNext") return SplitBehavior::merged_with_next;
  if (text == "Contiguous") return SplitBehavior::contiguous;
  in.fail(fmt::format("unknown behavior {}", quote(text)));
}

}  // namespace

Metaspace metaspace_of(const JsonReader& in) {
  Metaspace m;
  m.replacement = in["replacement"].text();
  if (m.replacement.empty() || m.replacement.size() > 4)
    in["replacement"].fail(fmt::format("expected a character, got {}", quote(m.replacement)));
  m.split = flag(in, "split", true);
  const bool prefix = flag(in, "add_prefix_space", true);  // of older files
  m.prepend = prefix ? Metaspace::always : Metaspace::never;
  if (is_absent(in, "prepend_scheme")) return m;
  const std::string scheme = in["prepend_scheme"].text();
  if (scheme == "first")
    m.prepend = Metaspace::first;
  else if (scheme == "never")
    m.prepend = Metaspace::never;
  else if (scheme == "always")
    m.prepend = Metaspace::always;
  else
    in["prepend_scheme"].fail(
        fmt::format("expected 'always', 'first' or 'never', got {}", quote(scheme)));
  return m;
}

std::vector<PreTokenizerStep> pre_tokenizer_of(const JsonReader& in) {
  std::vector<PreTokenizerStep> steps;
  for (const JsonReader& one : steps_of(in, "pre_tokenizer", "pretokenizers")) {
    if (!steps.empty() && std::holds_alternative<ByteLevelSplit>(steps.back()))
      one["type"].fail("a pre-tokenizer after ByteLevel is not supported");
    const std::string type = one["type"].text();
    if (type == "ByteLevel")
      steps.emplace_back(
          ByteLevelSplit{flag(one, "add_prefix_space", true), flag(one, "use_regex", true)});
    else if (type == "Split")
      steps.emplace_back(PatternSplit{pattern_of(one["pattern"]), behavior_of(one["behavior"]),
                                      flag(one, "invert", false)});
    else if (type == "Digits")
      steps.emplace_back(CharacterSplit{is_number, flag(one, "individual_digits", false)
                                                       ? SplitBehavior::isolated
                                                       : SplitBehavior::contiguous});
    else if (type == "Punctuation")
      steps.emplace_back(CharacterSplit{is_punctuation, is_absent(one, "behavior")
                                                            ? SplitBehavior::isolated
                                                            : behavior_of(one["behavior"])});
    else if (type == "WhitespaceSplit")
      steps.emplace_back(CharacterSplit{is_space, SplitBehavior::removed});
    else if (type == "BertPreTokenizer")
      steps.emplace_back(BertSplit{});
    else if (type == "Metaspace")
      steps.emplace_back(metaspace_of(one));
    else
      one["type"].fail(fmt::format("the pre-tokenizer {} is not supported", quote(type)));
  }
  return steps;
}

}  // namespace sten::tokenizer_detail
