#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/data/tokenizer/files.h"

namespace sten {

using namespace tokenizer_detail;

namespace {

bool is_absent(const JsonReader& in, std::string_view key) {
  return !in.has(key) || in[key].json().is_null();
}
bool flag(const JsonReader& in, std::string_view key, bool fallback) {
  return is_absent(in, key) ? fallback : in[key].truth();
}
// The type of an object; "" for null.
std::string type_of(const JsonReader& in, std::string_view key) {
  return is_absent(in, key) ? "" : in[key]["type"].text();
}
[[noreturn]] void fail_type(const JsonReader& in, std::string_view key, std::string_view wanted) {
  if (is_absent(in, key)) in.fail(fmt::format("missing {}: expected {}", quote(key), wanted));
  in[key]["type"].fail(fmt::format("expected {1}, got {0}", quote(type_of(in, key)), wanted));
}
// Error for options that would change the ids.
void check_only(const JsonReader& in, std::string_view key, const nlohmann::ordered_json& value) {
  if (is_absent(in, key) || in[key].json() == value) return;
  in[key].fail(
      fmt::format("expected {1}, got {0}", printable(dump_json(in[key].json())), dump_json(value)));
}

// Far above the special tokens of any model.
constexpr std::size_t max_template_parts = 256;

SubwordVocabulary subwords_of(const JsonReader& model, std::size_t bytes) {
  SubwordVocabulary subwords(model.origin(), bytes);
  for (const auto& [subword, id] : model["vocab"].members())
    subwords.add(subword, token_id(id), "");
  return subwords;
}

using Template = std::vector<TemplatePart>;

Template template_of(const JsonReader& in, const JsonReader& specials) {
  Template parts;
  const auto add = [&](const TemplatePart& p) {
    if (parts.size() == max_template_parts)
      in.fail(fmt::format("expected at most {} tokens and sequences", max_template_parts));
    parts.push_back(p);
  };
  for (const JsonReader& part : in.elements()) {
    const bool is_token = part.has("SpecialToken");
    const JsonReader one = part[is_token ? "SpecialToken" : "Sequence"];
    const Index type = one["type_id"].integer();
    if (type < 0 || type > 255)
      one["type_id"].fail(fmt::format("expected a token type from 0 to 255, got {}", type));
    TemplatePart p{TemplatePart::token, 0, static_cast<std::int32_t>(type)};
    const std::string id = one["id"].text();
    if (is_token) {
      for (const JsonReader& each : specials[id]["ids"].elements()) {
        p.id = token_id(each);
        add(p);
      }
      continue;
    }
    if (id != "A" && id != "B") one["id"].fail("expected 'A' or 'B'");
    p.kind = id == "A" ? TemplatePart::first : TemplatePart::second;
    add(p);
  }
  return parts;
}

// Checks that each text occurs once: the first always, the second only in a pair.
void check_texts(const JsonReader& in, const Template& parts, bool is_pair) {
  if (std::ranges::count(parts, TemplatePart::first, &TemplatePart::kind) != 1 ||
      std::ranges::count(parts, TemplatePart::second, &TemplatePart::kind) != (is_pair ? 1 : 0))
    in.fail("expected each sequence once");
}

SequenceTemplate around_of(const JsonReader& in) {
  const std::string type = type_of(in, "post_processor");
  if (type.empty() || type == "ByteLevel") return {};
  const JsonReader p = in["post_processor"];
  SequenceTemplate t;
  if (type == "TemplateProcessing") {
    t = {template_of(p["single"], p["special_tokens"]),
         template_of(p["pair"], p["special_tokens"])};
    check_texts(p["single"], t.one, false);
    check_texts(p["pair"], t.two, true);
    return t;
  }
  if (type != "BertProcessing" && type != "RobertaProcessing")
    fail_type(in, "post_processor", "TemplateProcessing, BertProcessing or ByteLevel");
  const auto id = [&](const char* key) {
    const std::vector<JsonReader> pair = p[key].elements();
    if (pair.size() != 2) p[key].fail("expected [token, id]");
    return token_id(pair[1]);
  };
  const bool is_bert = type == "BertProcessing";
  const TemplatePart first{TemplatePart::first};
  const TemplatePart begin{TemplatePart::token, id("cls")}, end{TemplatePart::token, id("sep")};
  const TemplatePart second{TemplatePart::second, 0, is_bert};
  const TemplatePart last{TemplatePart::token, end.id, is_bert};
  t.one = {begin, first, end};
  t.two = is_bert ? Template{begin, first, end, second, last}
                  : Template{begin, first, end, end, second, last};
  return t;
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
  o.around = around_of(in);
  for (const Template& t : {o.around.one, o.around.two})
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
    const JsonReader n = in["normalizer"];
    const bool lowercase = flag(n, "lowercase", true);
    own.text = {flag(n, "clean_text", true), flag(n, "handle_chinese_chars", true),
                flag(n, "strip_accents", lowercase), lowercase};
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

std::shared_ptr<Tokenizer> byte_pair_encoding(const JsonReader& in, std::size_t bytes,
                                              const TokenizerConfig& config) {
  const JsonReader model = in["model"];
  if (!type_of(in, "normalizer").empty()) fail_type(in, "normalizer", "null");
  if (type_of(in, "pre_tokenizer") != "ByteLevel") fail_type(in, "pre_tokenizer", "ByteLevel");
  const JsonReader cut = in["pre_tokenizer"];
  check_only(cut, "use_regex", true);
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
    check_only(model, key, "");
  for (const char* key : {"byte_fallback", "ignore_merges"}) check_only(model, key, false);
  check_only(model, "dropout", 0.0);
  SubwordVocabulary subwords = subwords_of(model, bytes);
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
                                fmt::format("{}: /model/merges/{}", in.origin(), i), ranks);
  }
  SubwordOptions options = options_of(in, config, false, subwords);
  return std::make_shared<BytePairEncoding>(std::move(subwords), std::move(options),
                                            std::move(ranks), flag(cut, "add_prefix_space", true));
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
  if (type == "BPE") return byte_pair_encoding(in, file.text.size(), config);
  model["type"].fail(fmt::format("unknown type {} (expected WordPiece or BPE)", quote(type)));
}

}  // namespace sten
