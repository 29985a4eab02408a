// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/json_steps.h"

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"

namespace sten::tokenizer_detail {
namespace {

// Far above the steps of any tokenizer.
constexpr std::size_t max_steps = 16;
// Of a text in a step, as what is prepended or replaces a match.
constexpr std::size_t max_text_bytes = 100;

void append_steps(const JsonReader& one, std::string_view list, int depth,
                  std::vector<JsonReader>& all) {
  if (one["type"].text() == "Sequence") {
    if (depth == 4) one.fail("expected at most 4 nested Sequences");
    for (const JsonReader& step : one[list].elements()) append_steps(step, list, depth + 1, all);
    return;
  }
  if (all.size() == max_steps) one.fail(fmt::format("expected at most {} steps", max_steps));
  all.push_back(one);
}

std::string short_text(const JsonReader& in) {
  const std::string text = in.text();
  if (text.size() > max_text_bytes)
    in.fail(fmt::format("{} bytes are more than {}", text.size(), max_text_bytes));
  return text;
}

ReplaceText replace_of(const JsonReader& in) {
  return {pattern_of(in["pattern"]), short_text(in["content"])};
}

std::size_t count_of(const JsonReader& in) {
  const Index n = in.integer();
  if (n < 0 || n > 1000) in.fail(fmt::format("expected an integer from 0 to 1000, got {}", n));
  return static_cast<std::size_t>(n);
}

}  // namespace

bool is_absent(const JsonReader& in, std::string_view key) {
  return !in.has(key) || in[key].json().is_null();
}

bool flag(const JsonReader& in, std::string_view key, bool fallback) {
  return is_absent(in, key) ? fallback : in[key].truth();
}

std::string type_of(const JsonReader& in, std::string_view key) {
  return is_absent(in, key) ? "" : in[key]["type"].text();
}

void fail_type(const JsonReader& in, std::string_view key, std::string_view wanted) {
  if (is_absent(in, key)) in.fail(fmt::format("missing {}: expected {}", quote(key), wanted));
  in[key]["type"].fail(fmt::format("expected {1}, got {0}", quote(type_of(in, key)), wanted));
}

void check_only(const JsonReader& in, std::string_view key, const nlohmann::ordered_json& value) {
  if (is_absent(in, key) || in[key].json() == value) return;
  in[key].fail(
      fmt::format("expected {1}, got {0}", printable(dump_json(in[key].json())), dump_json(value)));
}

std::vector<JsonReader> steps_of(const JsonReader& in, std::string_view key,
                                 std::string_view list) {
  std::vector<JsonReader> all;
  if (!is_absent(in, key)) append_steps(in[key], list, 0, all);
  return all;
}

TextPattern pattern_of(const JsonReader& in) {
  if (in.has("String")) {
    // Hugging Face's tokenizers find it between all characters.
    if (in["String"].text().empty()) in["String"].fail("expected a non-empty string");
    return TextPattern::literal(short_text(in["String"]));
  }
  const JsonReader regex = in["Regex"];
  return regex.read([&] { return TextPattern::regex(regex.text()); });
}

BertTextOptions bert_text_of(const JsonReader& in) {
  const bool lowercase = flag(in, "lowercase", true);
  return {flag(in, "clean_text", true), flag(in, "handle_chinese_chars", true),
          flag(in, "strip_accents", lowercase), lowercase};
}

Normalizer normalizer_of(const JsonReader& in) {
  std::vector<NormalizerStep> steps;
  for (const JsonReader& one : steps_of(in, "normalizer", "normalizers")) {
    const std::string type = one["type"].text();
    if (type == "BertNormalizer")
      steps.emplace_back(bert_text_of(one));
    else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD")
      steps.emplace_back(UnicodeForm{type.ends_with('C'), type.size() == 4});
    else if (type == "Lowercase")
      steps.emplace_back(Lowercase{});
    else if (type == "StripAccents")
      steps.emplace_back(StripAccents{});
    else if (type == "Strip")
      steps.emplace_back(StripSpaces{one["strip_left"].truth(), one["strip_right"].truth()});
    else if (type == "Prepend")
      steps.emplace_back(PrependText{short_text(one["prepend"])});
    else if (type == "Replace")
      steps.emplace_back(replace_of(one));
    else
      one["type"].fail(fmt::format("the normalizer {} is not supported", quote(type)));
  }
  return Normalizer(std::move(steps));
}

std::optional<std::vector<DecoderStep>> decoder_of(const JsonReader& in) {
  if (is_absent(in, "decoder")) return std::nullopt;
  std::vector<DecoderStep> steps;
  for (const JsonReader& one : steps_of(in, "decoder", "decoders")) {
    const std::string type = one["type"].text();
    if (type == "ByteLevel") {
      steps.emplace_back(DecodeBytes{});
    } else if (type == "ByteFallback") {
      steps.emplace_back(DecodeFallbackBytes{});
    } else if (type == "Fuse") {
      steps.emplace_back(Fuse{});
    } else if (type == "Metaspace") {
      steps.emplace_back(metaspace_of(one));
    } else if (type == "Replace") {
      steps.emplace_back(replace_of(one));
    } else if (type == "Strip") {
      const StripCharacter strip{one["content"].text(), count_of(one["start"]),
                                 count_of(one["stop"])};
      if (strip.character.empty() || strip.character.size() > 4)
        one["content"].fail(fmt::format("expected a character, got {}", quote(strip.character)));
      steps.emplace_back(strip);
    } else {
      one["type"].fail(fmt::format("the decoder {} is not supported", quote(type)));
    }
  }
  return steps;
}

}  // namespace sten::tokenizer_detail
