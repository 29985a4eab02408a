// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/pipeline_tokenizer.h"

namespace sten {

PipelineTokenizer::PipelineTokenizer(SubwordVocabulary all, SubwordOptions common,
                                     PipelineSteps steps, std::unique_ptr<const SubwordModel> model)
    : SubwordTokenizer(std::move(all), std::move(common)),
      steps_(std::move(steps)),
      model_(std::move(model)) {
  take_added();
}

std::string_view PipelineTokenizer::normalized(std::string_view text, std::string& buffer) const {
  return steps_.normalizer(text, buffer);
}

bool PipelineTokenizer::breaks_at_lines() const {
  return steps_.normalizer.breaks_at_lines() && steps_.pre_tokenizer.breaks_at_lines();
}

void PipelineTokenizer::append(std::string_view text, bool is_first, SubwordCache& cache,
                               std::vector<TokenId>& out) const {
  const auto compute = [this](std::string_view word, std::vector<TokenId>& to) {
    model_->append(word, to);
  };
  const auto chunk = [&](std::string_view part) { cache.append(part, out, compute); };
  steps_.pre_tokenizer(text, is_first, [&](std::string_view word) {
    if (word.size() <= SubwordCache::longest)
      chunk(word);
    else
      model_->for_chunks(word, chunk);
  });
}

std::string PipelineTokenizer::decode(std::span<const TokenId> ids) const {
  std::vector<std::string> all;
  for (const TokenId id : ids)
    if (subwords().has(id) && !is_special(id)) all.emplace_back(shown(id));
  if (steps_.decoder) return decoded(std::move(all), *steps_.decoder);
  std::string text;
  for (const std::string& s : all) text += (text.empty() ? "" : " ") + s;
  return text;
}

}  // namespace sten
