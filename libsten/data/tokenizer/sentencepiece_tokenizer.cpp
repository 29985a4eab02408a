// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/sentencepiece_tokenizer.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/data/tokenizer/byte_pair_encoding.h"
#include "libsten/data/tokenizer/pipeline_tokenizer.h"
#include "libsten/data/tokenizer/unigram.h"
#include "libsten/files/gguf/recovered_merges.h"

namespace sten {
namespace {

constexpr const char space[] = "\xe2\x96\x81";  // U+2581

// Pieces as subwords. Those that are not normal have the name of an added token with their id, if
// there is one, as where a model is trained further with reserved ids.
SubwordVocabulary sentencepiece_subwords(const SentencePieceModel& m, const TokenizerConfig& config,
                                         const std::string& name, std::size_t bytes) {
  std::unordered_map<TokenId, std::string_view> names;
  for (const AddedToken& t : config.added) names.emplace(t.id, t.content);
  SubwordVocabulary subwords(name, bytes);
  for (TokenId id = 0; id < std::ssize(m.pieces); ++id) {
    const SentencePiece& p = m.pieces[static_cast<std::size_t>(id)];
    const auto renamed = names.find(id);
    const bool is_normal = p.type == SentencePiece::normal || renamed == names.end();
    subwords.add(is_normal ? p.text : std::string(renamed->second), id, "");
  }
  for (const AddedToken& t : config.added) subwords.ensure(t.content, t.id, "");
  return subwords;
}

// Control pieces and the tokens of the config are found in texts, user-defined pieces in normalized
// ones.
std::vector<AddedToken> sentencepiece_added(const SentencePieceModel& m,
                                            const SubwordVocabulary& subwords,
                                            const TokenizerConfig& config) {
  std::vector<AddedToken> added = config.added;
  for (AddedToken& t : added) t.normalized = false;
  const auto is_listed = [&](TokenId id) {
    return std::ranges::any_of(config.added, [&](const AddedToken& t) { return t.id == id; });
  };
  for (TokenId id = 0; id < std::ssize(m.pieces); ++id) {
    const auto type = m.pieces[static_cast<std::size_t>(id)].type;
    const std::string text(subwords.entry(id));
    if (type == SentencePiece::control && !is_listed(id)) added.push_back({text, id, true});
    if (type == SentencePiece::user_defined)
      added.push_back({text, id, false, true, false, false, false, true});
  }
  return added;
}

// SentencePiece merges the pair with the highest score, of equal ones the first pair.
MergeRanks sentencepiece_ranks(const SentencePieceModel& m, const SubwordVocabulary& subwords) {
  std::vector<std::string> texts;
  std::vector<double> scores;
  std::unordered_map<std::string_view, double> score_of;
  for (const SentencePiece& p : m.pieces)
    if (p.type == SentencePiece::normal) {
      texts.push_back(p.text);
      scores.push_back(p.score);
      score_of.emplace(p.text, p.score);
    }
  const auto merges = recovered_merges(texts, scores);
  MergeRanks ranks(merges.size());
  std::int32_t rank = 0;
  double last = 0;
  for (const auto& [left, right] : merges) {
    const double score = score_of.at(texts[left] + texts[right]);
    if (rank == 0 || score != last) ++rank;
    last = score;
    BytePairEncoding::add_merge(subwords, texts[left], texts[right], rank, subwords.file(), ranks);
  }
  return ranks;
}

std::unique_ptr<const SubwordModel> sentencepiece_words(const SentencePieceModel& m,
                                                        const SubwordVocabulary& subwords) {
  std::optional<TokenId> unknown;
  std::vector<double> scores;
  for (const SentencePiece& p : m.pieces) {
    if (p.type == SentencePiece::unknown) unknown = static_cast<TokenId>(scores.size());
    const bool is_normal = p.type == SentencePiece::normal;
    scores.push_back(is_normal ? p.score : Unigram::never);
  }
  if (m.is_unigram)
    return std::make_unique<Unigram>(subwords, std::move(scores),
                                     UnigramOptions{unknown, m.byte_fallback});
  BytePairOptions options;
  options.unknown = unknown;
  options.fuse_unknown = true;
  options.byte_fallback = m.byte_fallback;
  return std::make_unique<BytePairEncoding>(subwords, sentencepiece_ranks(m, subwords), options);
}

PipelineSteps sentencepiece_steps(const SentencePieceModel& m, bool is_legacy,
                                  const std::string& name) {
  const ReplaceText escape{TextPattern::literal(" "), space};
  std::vector<NormalizerStep> steps;
  if (!m.character_map.empty())
    steps.emplace_back(std::make_shared<const CharacterMap>(m.character_map, name));
  if (m.removes_spaces) steps.emplace_back(SingleSpaces{m.escapes_spaces ? space : ""});
  const std::string blank = m.escapes_spaces ? space : " ";
  if (m.escapes_spaces) steps.emplace_back(escape);
  if (m.adds_prefix && is_legacy) steps.emplace_back(PrependText{blank});
  // Words are split where no piece continues, so that few of them are computed.
  const bool splits = std::ranges::none_of(m.pieces, [](const SentencePiece& p) {
    return p.type == SentencePiece::normal && p.text.find(space, 1) != std::string::npos;
  });
  const auto prepend = m.adds_prefix && !is_legacy ? Metaspace::first : Metaspace::never;
  std::vector<PreTokenizerStep> words;
  if (m.escapes_spaces && (splits || prepend == Metaspace::first))
    words.emplace_back(Metaspace{space, prepend, splits});
  std::vector<DecoderStep> decoder;
  decoder.emplace_back(ReplaceText{TextPattern::literal(space), " "});
  if (m.byte_fallback) decoder.emplace_back(DecodeFallbackBytes{});
  decoder.emplace_back(Fuse{});
  const std::size_t all = std::numeric_limits<std::size_t>::max();
  if (m.adds_prefix || m.removes_spaces)
    decoder.emplace_back(StripCharacter{" ", m.removes_spaces ? all : 1, 0});
  return {Normalizer(std::move(steps)), PreTokenizer(std::move(words)), std::move(decoder)};
}

SequenceTemplate sentencepiece_around(const TokenizerConfig& config, const SpecialIds& special) {
  const bool adds_bos = config.adds_bos.value_or(true) && special.bos;
  const bool adds_eos = config.adds_eos.value_or(false) && special.eos;
  const auto sequence = [&](TemplatePart::Kind kind, std::int32_t type) {
    std::vector<TemplatePart> parts;
    if (adds_bos) parts.push_back({TemplatePart::token, *special.bos, type});
    parts.push_back({kind, 0, type});
    if (adds_eos) parts.push_back({TemplatePart::token, *special.eos, type});
    return parts;
  };
  SequenceTemplate around{sequence(TemplatePart::first, 0), sequence(TemplatePart::first, 0)};
  for (const TemplatePart& p : sequence(TemplatePart::second, 1)) around.two.push_back(p);
  return around;
}

}  // namespace

std::shared_ptr<Tokenizer> sentencepiece_tokenizer(SentencePieceModel m, TokenizerConfig config,
                                                   const std::string& name, std::size_t bytes) {
  SubwordVocabulary subwords = sentencepiece_subwords(m, config, name, bytes);
  const auto otherwise = [&](std::optional<std::string>& token, std::optional<TokenId> id) {
    if (!token) token = id ? std::string(subwords.entry(*id)) : "";
  };
  otherwise(config.unk, m.unknown());
  otherwise(config.bos, m.bos);
  otherwise(config.eos, m.eos);
  otherwise(config.pad, m.pad);
  m.adds_prefix = config.prefix_space.value_or(m.adds_prefix);
  SubwordOptions options;
  options.added = sentencepiece_added(m, subwords, config);
  options.special = tokenizer_detail::special_ids(subwords, config, false, options.added);
  options.around = sentencepiece_around(config, options.special);
  PipelineSteps steps = sentencepiece_steps(m, config.is_legacy, name);
  auto words = sentencepiece_words(m, subwords);
  return std::make_shared<PipelineTokenizer>(std::move(subwords), std::move(options),
                                             std::move(steps), std::move(words));
}

}  // namespace sten
