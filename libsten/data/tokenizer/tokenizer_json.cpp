// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/data/tokenizer/byte_pair_encoding.h"
#include "libsten/data/tokenizer/files.h"
#include "libsten/data/tokenizer/json_steps.h"
#include "libsten/data/tokenizer/unigram.h"

namespace sten {

using namespace tokenizer_detail;

namespace {

SubwordVocabulary subwords_of(const JsonReader& model, std::size_t bytes) {
  SubwordVocabulary subwords(model.origin(), bytes);
  for (const auto& [subword, id] : model["vocab"].members())
    subwords.add(subword, token_id(id), "");
  return subwords;
}

// Options of any model; added tokens become subwords.
SubwordOptions options_of(const JsonReader& in, const TokenizerConfig& config, bool is_bert,
                          SubwordVocabulary& subwords) {
  SubwordOptions o;
  if (!is_absent(in, "added_tokens"))
    for (const JsonReader& token : in["added_tokens"].elements()) {
      o.added.push_back(added_token(token, token_id(token["id"])));
      subwords.ensure(o.added.back().content, o.added.back().id, "");
    }
  // Special tokens that are not added tokens are not found in text.
  std::vector<AddedToken> found = o.added;
  o.special = special_ids(subwords, config, is_bert, found);
  o.around = post_processor_of(in);
  for (const auto& t : {o.around.one, o.around.two})
    for (const TemplatePart& p : t)
      if (p.kind == TemplatePart::token && !subwords.has(p.id))
        in["post_processor"].fail(fmt::format("unknown token id {}", p.id));
  return o;
}

std::shared_ptr<Tokenizer> word_piece(const JsonReader& in, std::size_t bytes,
                                      TokenizerConfig config) {
  const JsonReader model = in["model"];
  SubwordVocabulary subwords = subwords_of(model, bytes);
  WordPieceOptions own;
  const std::string normalizer = type_of(in, "normalizer");
  if (normalizer == "BertNormalizer") {
    own.text = bert_text_of(in["normalizer"]);
  } else if (normalizer.empty()) {
    own.text = {false, false, false, false};
  } else {
    fail_type(in, "normalizer", "BertNormalizer");
  }
  if (type_of(in, "pre_tokenizer") != "BertPreTokenizer")
    fail_type(in, "pre_tokenizer", "BertPreTokenizer");
  if (!is_absent(model, "continuing_subword_prefix"))
    own.continuation = model["continuing_subword_prefix"].text();
  if (own.continuation.empty())
    model["continuing_subword_prefix"].fail("expected a non-empty string");
  if (!is_absent(model, "max_input_chars_per_word"))
    own.longest = model["max_input_chars_per_word"].integer();
  if (own.longest < 0 || own.longest > max_word_characters)
    model["max_input_chars_per_word"].fail(
        fmt::format("expected an integer from 0 to {}, got {}", max_word_characters, own.longest));
  if (type_of(in, "decoder") == "WordPiece") own.cleanup = flag(in["decoder"], "cleanup", true);
  config.unk = is_absent(model, "unk_token") ? "[UNK]" : model["unk_token"].text();
  SubwordOptions options = options_of(in, config, true, subwords);
  if (!options.special.unk) fail("{}: missing {}", in.origin(), printable(*config.unk));
  own.unknown = *options.special.unk;
  return std::make_shared<WordPiece>(std::move(subwords), std::move(options), std::move(own));
}

MergeRanks ranks_of(const JsonReader& model, const SubwordVocabulary& subwords) {
  const std::vector<JsonReader> merges = model["merges"].elements();
  MergeRanks ranks(merges.size());
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const JsonReader& m = merges[i];
    std::vector<std::string> two;
    if (m.json().is_array()) {
      two = m.texts();
    } else {
      const std::string text = m.text();
      const std::size_t blank = text.find(' ');
      if (blank != std::string::npos) two = {text.substr(0, blank), text.substr(blank + 1)};
    }
    if (two.size() != 2) m.fail("expected two subwords");
    BytePairEncoding::add_merge(subwords, two[0], two[1], static_cast<std::int32_t>(i),
                                fmt::format("{}: /model/merges/{}", model.origin(), i), ranks);
  }
  return ranks;
}

std::optional<TokenId> unknown_of(const JsonReader& model, const SubwordVocabulary& subwords) {
  if (is_absent(model, "unk_token")) return std::nullopt;
  const std::string token = model["unk_token"].text();
  const auto id = subwords.find(token);
  if (!id && !token.empty())
    model["unk_token"].fail(fmt::format("{} is not in vocab", quote(token)));
  return id;
}

std::unique_ptr<const SubwordModel> byte_pair_encoding(const JsonReader& model,
                                                       const SubwordVocabulary& subwords,
                                                       bool byte_level) {
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    check_only(model, key, "");
  check_only(model, "dropout", 0.0);
  const BytePairOptions options{byte_level, unknown_of(model, subwords),
                                flag(model, "fuse_unk", false), flag(model, "byte_fallback", false),
                                flag(model, "ignore_merges", false)};
  if (byte_level && options.byte_fallback)
    model["byte_fallback"].fail("byte_fallback with the pre-tokenizer ByteLevel is not supported");
  return std::make_unique<BytePairEncoding>(subwords, ranks_of(model, subwords), options);
}

// Subwords with their scores; the index is the id.
std::vector<double> read_scores(const JsonReader& model, SubwordVocabulary& subwords) {
  std::vector<double> scores;
  for (const JsonReader& one : model["vocab"].elements()) {
    const std::vector<JsonReader> pair = one.elements();
    if (pair.size() != 2) one.fail("expected [subword, score]");
    subwords.add(pair[0].text(), static_cast<TokenId>(scores.size()), "");
    scores.push_back(pair[1].number());
  }
  return scores;
}

std::unique_ptr<const SubwordModel> unigram(const JsonReader& model,
                                            const SubwordVocabulary& subwords,
                                            std::vector<double> scores) {
  UnigramOptions options;
  options.byte_fallback = flag(model, "byte_fallback", false);
  if (!is_absent(model, "unk_id")) options.unknown = token_id(model["unk_id"]);
  if (options.unknown && *options.unknown >= std::ssize(scores))
    model["unk_id"].fail(fmt::format("unknown token id {}", *options.unknown));
  return std::make_unique<Unigram>(subwords, std::move(scores), options);
}

std::shared_ptr<Tokenizer> pipeline(const JsonReader& in, std::size_t bytes,
                                    const TokenizerConfig& config) {
  const JsonReader model = in["model"];
  const std::vector<PreTokenizerStep> splits = pre_tokenizer_of(in);
  const bool byte_level = !splits.empty() && std::holds_alternative<ByteLevelSplit>(splits.back());
  PipelineSteps steps{normalizer_of(in), PreTokenizer(splits), decoder_of(in)};
  std::unique_ptr<const SubwordModel> words;
  const bool is_unigram = model.has("type") && model["type"].text() == "Unigram";
  if (is_unigram && byte_level)
    in["pre_tokenizer"].fail("Unigram with the pre-tokenizer ByteLevel is not supported");
  SubwordVocabulary subwords =
      is_unigram ? SubwordVocabulary(in.origin(), bytes) : subwords_of(model, bytes);
  if (is_unigram)
    words = unigram(model, subwords, read_scores(model, subwords));
  else
    words = byte_pair_encoding(model, subwords, byte_level);
  SubwordOptions options = options_of(in, config, false, subwords);
  return std::make_shared<PipelineTokenizer>(std::move(subwords), std::move(options),
                                             std::move(steps), std::move(words));
}

}  // namespace

std::shared_ptr<Tokenizer> parse_tokenizer(const NamedText& file, const TokenizerConfig& config) {
  const auto json = parse_json(file.text, file.name, Fault::input);
  const JsonReader in(json, file.name, Fault::input);
  const JsonReader model = in["model"];
  // Old files have no type.
  const std::string type = model.has("type")     ? model["type"].text()
                           : model.has("merges") ? "BPE"
                                                 : "WordPiece";
  if (type == "WordPiece") return word_piece(in, file.text.size(), config);
  if (type == "BPE" || type == "Unigram") return pipeline(in, file.text.size(), config);
  model["type"].fail(
      fmt::format("unknown type {} (expected WordPiece, BPE or Unigram)", quote(type)));
}

}  // namespace sten
