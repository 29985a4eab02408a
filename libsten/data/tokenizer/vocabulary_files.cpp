// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/byte_pair_encoding.h"
#include "libsten/data/tokenizer/files.h"
#include "libsten/data/tokenizer/pipeline_tokenizer.h"

namespace sten {

using namespace tokenizer_detail;

namespace {

// The time of a text is proportional to its bytes times those of the longest added token.
constexpr std::size_t max_added_bytes = 1000;

// Calls f(line, number) for each line without its end; numbers start at 1.
template <class F>
void for_lines(const NamedText& file, F&& f) {
  for (std::size_t i = 0; i < file.text.size();) {
    const std::size_t at = i;
    if (next_code_point(file.text, i) < 0)
      fail("{}: {}: invalid UTF-8", file.name, place_of(file.text, at));
  }
  Index number = 1;
  for (std::size_t at = 0; at < file.text.size(); ++number) {
    const std::size_t end = std::min(file.text.find('\n', at), file.text.size());
    std::string_view line = file.text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    f(line, number);
    at = end + 1;
  }
}

std::optional<std::string> token_text(const JsonReader& in, std::string_view key) {
  if (!in.has(key) || in[key].json().is_null()) return std::nullopt;
  const JsonReader token = in[key];
  return token.json().is_object() ? token["content"].text() : token.text();
}

}  // namespace

TokenId tokenizer_detail::token_id(const JsonReader& in) {
  const Index id = in.integer();
  if (id < 0 || id > max_token_id)
    in.fail(fmt::format("expected a token id from 0 to {1}, got {0}", id, max_token_id));
  return static_cast<TokenId>(id);
}

AddedToken tokenizer_detail::added_token(const JsonReader& in, TokenId id) {
  const auto flag = [&](const char* key) { return in.has(key) && in[key].truth(); };
  AddedToken t{
      in["content"].text(), id, flag("special"), flag("normalized"), flag("lstrip"), flag("rstrip"),
      flag("single_word")};
  if (t.content.empty()) in["content"].fail("expected a non-empty string");
  if (t.content.size() > max_added_bytes)
    in["content"].fail(fmt::format("{} bytes are more than {}", t.content.size(), max_added_bytes));
  return t;
}

TokenizerConfig TokenizerConfig::parse(const NamedText& file) {
  const auto json = parse_json(file.text, file.name, Fault::input);
  const JsonReader in(json, file.name, Fault::input);
  TokenizerConfig c;
  const auto flag = [&](const char* key) -> std::optional<bool> {
    if (!in.has(key) || in[key].json().is_null()) return std::nullopt;
    return in[key].truth();
  };
  c.lowercase = flag("do_lower_case").value_or(c.lowercase);
  c.space_ideographs = flag("tokenize_chinese_chars").value_or(c.space_ideographs);
  c.strip_accents = flag("strip_accents");
  c.prefix_space = flag("add_prefix_space");
  c.adds_bos = flag("add_bos_token");
  c.adds_eos = flag("add_eos_token");
  c.is_legacy = flag("legacy").value_or(c.is_legacy);
  const std::pair<const char*, std::optional<std::string>*> tokens[] = {
      {"unk_token", &c.unk}, {"cls_token", &c.cls}, {"sep_token", &c.sep}, {"mask_token", &c.mask},
      {"pad_token", &c.pad}, {"bos_token", &c.bos}, {"eos_token", &c.eos}};
  for (const auto& [key, to] : tokens) *to = token_text(in, key);
  if (in.has("added_tokens_decoder"))
    for (const auto& [key, token] : in["added_tokens_decoder"].members()) {
      std::int64_t id = 0;
      if (!parse_integer(key, id) || id < 0 || id > max_token_id)
        token.fail(fmt::format("expected a token id from 0 to {} as the key", max_token_id));
      c.added.push_back(added_token(token, static_cast<TokenId>(id)));
    }
  return c;
}

SpecialIds tokenizer_detail::special_ids(const SubwordVocabulary& subwords,
                                         const TokenizerConfig& c, bool is_bert,
                                         std::vector<AddedToken>& added) {
  const auto find = [&](const std::optional<std::string>& said,
                        const char* usual) -> std::optional<TokenId> {
    const std::string token = said ? *said : usual;
    const auto id = token.empty() ? std::nullopt : subwords.find(token);
    const auto same = [&](const AddedToken& t) { return t.content == token; };
    if (id && std::ranges::none_of(added, same)) added.push_back({token, *id, true});
    return id;
  };
  const char* const end = "<|endoftext|>";
  if (is_bert)
    return {find(c.unk, "[UNK]"),   find(c.cls, "[CLS]"), find(c.sep, "[SEP]"),
            find(c.mask, "[MASK]"), find(c.pad, "[PAD]"), find(c.bos, ""),
            find(c.eos, "")};
  return {find(c.unk, end), find(c.cls, ""),  find(c.sep, ""), find(c.mask, ""),
          find(c.pad, ""),  find(c.bos, end), find(c.eos, end)};
}

std::shared_ptr<Tokenizer> parse_word_piece(const NamedText& vocabulary,
                                            const TokenizerConfig& config) {
  SubwordVocabulary subwords(vocabulary.name,
                             4 * vocabulary.text.size());  // a line can have one byte
  for_lines(vocabulary, [&](std::string_view line, Index number) {
    if (number > max_token_id) fail("{}: more than {} lines", vocabulary.name, max_token_id);
    subwords.add(std::string(line), static_cast<TokenId>(number - 1),
                 fmt::format("line {}: ", number));
  });
  SubwordOptions options;
  options.added = config.added;
  for (const AddedToken& t : options.added) subwords.ensure(t.content, t.id, "");
  options.special = special_ids(subwords, config, true, options.added);
  if (!options.special.unk)
    fail("{}: missing {}", vocabulary.name, printable(config.unk.value_or("[UNK]")));
  if (const auto cls = options.special.cls, sep = options.special.sep; cls && sep) {
    const TemplatePart first{TemplatePart::first}, second{TemplatePart::second, 0, 1};
    const TemplatePart begin{TemplatePart::token, *cls, 0}, end{TemplatePart::token, *sep, 0};
    const TemplatePart last{TemplatePart::token, *sep, 1};
    options.around = {{begin, first, end}, {begin, first, end, second, last}};
  }
  WordPieceOptions own;
  own.text = {true, config.space_ideographs, config.strip_accents.value_or(config.lowercase),
              config.lowercase};
  own.unknown = *options.special.unk;
  return std::make_shared<WordPiece>(std::move(subwords), std::move(options), std::move(own));
}

std::shared_ptr<Tokenizer> parse_byte_pair_encoding(const NamedText& vocabulary,
                                                    const NamedText& merges,
                                                    const TokenizerConfig& config) {
  SubwordVocabulary subwords(vocabulary.name, vocabulary.text.size());
  const auto json = parse_json(vocabulary.text, vocabulary.name, Fault::input);
  for (const auto& [subword, id] : JsonReader(json, vocabulary.name, Fault::input).members())
    subwords.add(subword, token_id(id), "");
  MergeRanks ranks(static_cast<std::size_t>(std::ranges::count(merges.text, '\n')) + 1);
  std::int32_t rank = 0;
  for_lines(merges, [&](std::string_view line, Index number) {
    if (line.starts_with("#version") || line.empty()) return;
    const std::string place = fmt::format("{}: line {}", merges.name, number);
    const std::size_t blank = line.find(' ');
    if (blank == std::string_view::npos || line.find(' ', blank + 1) != std::string_view::npos)
      fail("{}: expected two subwords separated by a space, got {}", place, quote(line));
    BytePairEncoding::add_merge(subwords, line.substr(0, blank), line.substr(blank + 1), rank++,
                                place, ranks);
  });
  SubwordOptions options;
  options.added = config.added;
  for (const AddedToken& t : options.added) subwords.ensure(t.content, t.id, "");
  options.special = special_ids(subwords, config, false, options.added);
  BytePairOptions own;
  own.byte_level = true;
  auto model = std::make_unique<BytePairEncoding>(subwords, std::move(ranks), own);
  PipelineSteps steps{
      {}, PreTokenizer({ByteLevelSplit{config.prefix_space.value_or(false)}}), {{DecodeBytes{}}}};
  return std::make_shared<PipelineTokenizer>(std::move(subwords), std::move(options),
                                             std::move(steps), std::move(model));
}

}  // namespace sten
