// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/sentencepiece_metadata.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/log.h"
#include "libsten/core/base/text.h"
#include "libsten/files/gguf/json_member.h"
#include "libsten/files/gguf/special_tokens.h"
#include "libsten/files/gguf/token_types.h"

namespace sten {
namespace {

using Json = nlohmann::ordered_json;

class SentencePieceWriter {
 public:
  SentencePieceWriter(const SentencePieceModel& model, const std::string& name,
                      std::size_t vocabulary)
      : name_(name),
        tokens_(vocabulary),
        scores_(vocabulary, unused_score),
        types_(vocabulary, unused_token) {
    if (model.is_unigram) fail("{}: expected BPE as the model, got Unigram", name);
    if (!model.byte_fallback) fail("{}: expected a BPE with bytes as fallback", name);
    for (std::size_t i = 0; i < model.pieces.size(); ++i) {
      const SentencePiece& p = model.pieces[i];
      put(i, p.text, static_cast<std::int32_t>(p.type), static_cast<float>(p.score));
    }
  }

  // "added_tokens_decoder" of tokenizer_config.json.
  void add_tokens(const NamedJson& settings) {
    const Json& added = json_member(settings.json, "added_tokens_decoder");
    if (!added.is_object()) return;
    TokensBeyond beyond(settings.name, tokens_.size());
    for (const auto& [key, token] : added.items()) {
      std::int64_t given = 0;
      const Json& content = json_member(token, "content");
      if (!parse_integer(key, given) || given < 0 || !content.is_string())
        fail("{}: 'added_tokens_decoder': expected ids with texts as 'content'", settings.name);
      const auto id = static_cast<std::size_t>(given);
      if (id >= tokens_.size()) {
        beyond.add(content.get<std::string>(), id);
        continue;
      }
      if (types_[id] != normal_token && types_[id] != unused_token &&
          tokens_[id] == content.get_ref<const std::string&>())
        continue;  // a control token of the model
      const Json& special = json_member(token, "special");
      const bool is_control = special.is_boolean() && special.get<bool>();
      put(id, content.get<std::string>(), is_control ? control_token : user_defined_token,
          added_score);
    }
    beyond.warn_of_them();
  }

  void add_to(GgufMetadata& to) {
    name_unused_tokens(tokens_, name_);
    to.add("tokenizer.ggml.model", "llama");
    to.add("tokenizer.ggml.pre", "default");
    to.add("tokenizer.ggml.tokens", tokens_);
    to.add("tokenizer.ggml.scores", scores_);
    to.add("tokenizer.ggml.token_type", types_);
  }

  const std::vector<std::string>& tokens() const { return tokens_; }

 private:
  void put(std::size_t id, const std::string& text, std::int32_t type, float score) {
    if (id >= tokens_.size())
      fail("{}: token {}: expected an id below {}, the rows of the embedding, got {}", name_,
           quote(text), tokens_.size(), id);
    tokens_[id] = type == user_defined_token ? with_spaces(text) : text;
    scores_[id] = score;
    types_[id] = type;
  }

  const std::string& name_;
  std::vector<std::string> tokens_;
  std::vector<float> scores_;
  std::vector<std::int32_t> types_;
};

// `settings` with the special tokens of the model where it has none.
Json with_special_tokens(const SentencePieceModel& model, const Json& settings) {
  Json all = settings.is_object() ? settings : Json::object();
  for (const auto& [key, id] :
       {std::pair("bos_token", model.bos), std::pair("eos_token", model.eos),
        std::pair("unk_token", model.unknown()), std::pair("pad_token", model.pad)})
    if (id && json_member(all, key).is_null())
      all[key] = model.pieces[static_cast<std::size_t>(*id)].text;
  return all;
}

}  // namespace

SentencePieceModel gguf_sentencepiece(const GgufFile& file, const std::string& name) {
  SentencePieceModel m;
  const auto list = [&](const char* key) -> const GgufValue& {
    const GgufValue* v = file.find(key);
    if (!v) fail("{}: missing {} in the metadata", name, quote(key));
    return *v;
  };
  const std::vector<std::string_view> texts = list("tokenizer.ggml.tokens").texts();
  const std::vector<double> scores = list("tokenizer.ggml.scores").reals(),
                            types = list("tokenizer.ggml.token_type").reals();
  if (scores.size() != texts.size() || types.size() != texts.size())
    fail("{}: expected a score and a type per token, got {} tokens, {} scores and {} types", name,
         texts.size(), scores.size(), types.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto type = static_cast<std::int64_t>(types[i]);
    m.pieces.push_back({std::string(texts[i]), scores[i], sentencepiece_type(type, name, i)});
    m.byte_fallback = m.byte_fallback || m.pieces.back().type == SentencePiece::byte;
  }
  const auto flag = [&](const char* key, bool otherwise) {
    return file.boolean(fmt::format("tokenizer.ggml.{}", key)).value_or(otherwise);
  };
  m.adds_prefix = flag("add_space_prefix", true);
  m.removes_spaces = flag("remove_extra_whitespaces", true);
  if (const GgufValue* map = file.find("tokenizer.ggml.precompiled_charsmap"))
    for (const double b : map->reals())
      m.character_map += static_cast<char>(static_cast<std::int64_t>(b));
  const auto id = [&](const char* kind) -> std::optional<std::int32_t> {
    const auto at = file.integer(fmt::format("tokenizer.ggml.{}_token_id", kind));
    if (!at || *at == 0xffffffff) return std::nullopt;
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(*at, -1, INT32_MAX));
  };
  m.bos = id("bos"), m.eos = id("eos"), m.pad = id("padding");
  check_sentencepiece(m, name);
  return m;
}

void add_sentencepiece_metadata(const SentencePieceModel& model, const std::string& name,
                                const NamedJson& settings, const NamedJson& config,
                                std::size_t vocabulary, GgufMetadata& to) {
  SentencePieceWriter writer(model, name, vocabulary);
  writer.add_tokens(settings);
  writer.add_to(to);
  const bool maps = !model.character_map.empty();
  if (maps || model.removes_spaces)
    warn("{}: the GGUF file does not have the normalization of {}", name,
         !maps                  ? "spaces"
         : model.removes_spaces ? "characters and spaces"
                                : "characters");
  const Json& prefix = json_member(settings.json, "add_prefix_space");
  to.add("tokenizer.ggml.add_space_prefix",
         prefix.is_boolean() ? prefix.get<bool>() : model.adds_prefix);
  const Json all = with_special_tokens(model, settings.json);
  add_special_tokens(
      writer.tokens(), all, config.json,
      [&](const std::string& token, bool is_first) { return is_first && !token.empty(); }, to);
}

}  // namespace sten
