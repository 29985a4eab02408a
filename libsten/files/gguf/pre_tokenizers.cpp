// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/pre_tokenizers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace sten {
namespace {

// Regular expressions of tokenizer.json files, as llama.cpp has them (llama-vocab.cpp).
constexpr const char llama3[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char qwen2[] =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char tekken[] =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr const char gpt4o[] =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct Splitting {
  std::string_view name;
  const char* regex = "";   // empty: the one of GPT-2, which ByteLevel has
  bool has_digits = false;  // each digit alone
  bool has_nfc = false;     // normalizes to NFC
  bool ignores_merges = false;
};
// The first name of each kind is the one that is written.
constexpr Splitting splittings[] = {
    {"gpt-2"},
    {"default"},
    {"olmo"},
    {"jais"},
    {"trillion"},
    {"granite-docling"},
    {"mpt"},
    {"smollm", "", true},
    {"starcoder", "", true},
    {"refact", "", true},
    {"command-r", "", true},
    {"codeshell", "", true},
    {"exaone", "", true},
    {"llama-bpe", llama3, false, false, true},
    {"llama3", llama3, false, false, true},
    {"llama-v3", llama3, false, false, true},
    {"falcon3", llama3, false, false, true},
    {"pixtral", llama3, false, false, true},
    {"dbrx", llama3},
    {"smaug-bpe", llama3},
    {"lfm2", llama3, false, false, true},
    {"qwen2", qwen2, false, true},
    {"deepseek-r1-qwen", qwen2, false, true},
    {"megrez", qwen2, false, true},
    {"tekken", tekken, false, false, true},
    {"gpt-4o", gpt4o},
    {"llama4", gpt4o},
};

const Splitting* find(std::string_view name) {
  if (name.empty()) name = "default";
  for (const Splitting& s : splittings)
    if (s.name == name) return &s;
  return nullptr;
}

}  // namespace

std::string pre_tokenizer_json(std::string_view name) {
  const Splitting* s = find(name);
  if (!s) return "";
  const std::string_view regex = s->regex;
  const std::string bytes = fmt::format(
      R"({{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":{}}})",
      regex.empty());
  std::string first;
  if (s->has_digits) first = R"({"type":"Digits","individual_digits":true})";
  if (!regex.empty())
    first = fmt::format(
        R"({{"type":"Split","pattern":{{"Regex":{}}},"behavior":"Isolated","invert":false}})",
        nlohmann::json(regex).dump());
  if (first.empty()) return bytes;
  return fmt::format(R"({{"type":"Sequence","pretokenizers":[{},{}]}})", first, bytes);
}

std::string pre_tokenizer_normalizer(std::string_view name) {
  const Splitting* s = find(name);
  return s && s->has_nfc ? R"({"type":"NFC"})" : "null";
}

bool pre_tokenizer_ignores_merges(std::string_view name) {
  const Splitting* s = find(name);
  return s && s->ignores_merges;
}

std::string_view pre_tokenizer_name(std::string_view regex, bool has_digits, bool ignores_merges) {
  std::string_view other;
  for (const Splitting& s : splittings) {
    if (s.regex != regex || s.has_digits != has_digits) continue;
    if (s.ignores_merges == ignores_merges) return s.name;
    if (other.empty()) other = s.name;
  }
  return other;
}

}  // namespace sten
