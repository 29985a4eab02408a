// SPDX-License-Identifier: Apache-2.0
// The tokenizer of a Hugging Face model as metadata.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/files/gguf/json_member.h"
#include "libsten/files/gguf/model_metadata.h"
#include "libsten/files/gguf/pre_tokenizers.h"
#include "libsten/files/gguf/special_tokens.h"
#include "libsten/files/gguf/token_types.h"

namespace sten {
namespace {

using Json = nlohmann::ordered_json;

bool is_true(const Json& value) { return value.is_boolean() && value.get<bool>(); }

class TokenizerWriter {
 public:
  TokenizerWriter(const NamedJson& tokenizer, std::size_t vocabulary)
      : name_(tokenizer.name), json_(tokenizer.json), model_(json_member(json_, "model")) {
    const Json& type = json_member(model_, "type");
    if (type != "BPE")
      fail("{}: expected BPE as the model, got {}", name_,
           type.is_string() ? quote(type.get<std::string>()) : "none");
    is_bytes_ = is_true(json_member(model_, "byte_fallback"));
    tokens_.resize(vocabulary);
    types_.assign(vocabulary, unused_token);
    add_tokens(added_beyond());
    name_unused_tokens(tokens_, name_);
  }

  void add_to(GgufMetadata& to) {
    const std::vector<std::string> merges = merge_texts();
    if (is_bytes_) {
      to.add("tokenizer.ggml.model", "llama");
      to.add("tokenizer.ggml.pre", "default");
      mark_bytes();
    } else {
      to.add("tokenizer.ggml.model", "gpt2");
      to.add("tokenizer.ggml.pre", splitting());
    }
    to.add("tokenizer.ggml.tokens", tokens_);
    if (is_bytes_) to.add("tokenizer.ggml.scores", scores(merges));
    to.add("tokenizer.ggml.token_type", types_);
    if (!is_bytes_) to.add("tokenizer.ggml.merges", merges);
    if (is_bytes_) to.add("tokenizer.ggml.add_space_prefix", adds_space());
  }

  const std::vector<std::string>& tokens() const { return tokens_; }

  // Whether the post-processor adds a token before or after one text.
  bool adds(const std::string& token, bool is_first) const {
    const Json& post = json_member(json_, "post_processor");
    const Json list = json_member(post, "type") == "Sequence" ? json_member(post, "processors")
                                                              : Json::array({post});
    for (const Json& p : list) {
      const Json& single = json_member(p, "single");
      if (!single.is_array() || single.empty()) continue;
      const Json& item = is_first ? single.front() : single.back();
      if (json_member(json_member(item, "SpecialToken"), "id") == token) return true;
    }
    return false;
  }

 private:
  // The added tokens whose ids are beyond the rows of the embedding.
  std::unordered_set<std::string> added_beyond() const {
    TokensBeyond all(name_, tokens_.size());
    std::unordered_set<std::string> texts;
    for (const Json& added : json_member(json_, "added_tokens")) {
      const Json &content = json_member(added, "content"), &id = json_member(added, "id");
      if (!content.is_string() || !id.is_number_unsigned() || id < tokens_.size()) continue;
      all.add(content.get<std::string>(), id.get<std::size_t>());
      texts.insert(content.get<std::string>());
    }
    all.warn_of_them();
    return texts;
  }

  void add_tokens(const std::unordered_set<std::string>& left_out) {
    const Json& tokens = json_member(model_, "vocab");
    if (!tokens.is_object()) fail("{}: missing object 'vocab'", name_);
    for (const auto& [token, id] : tokens.items())
      if (!left_out.contains(token)) put(token, id, normal_token);
    for (const Json& added : json_member(json_, "added_tokens")) {
      const Json& content = json_member(added, "content");
      if (!content.is_string()) fail("{}: 'added_tokens': expected texts as 'content'", name_);
      const std::string& text = content.get_ref<const std::string&>();
      if (left_out.contains(text)) continue;
      const bool is_control = is_true(json_member(added, "special"));
      // SentencePiece has its own character for spaces.
      put(is_bytes_ && !is_control ? with_spaces(text) : text, json_member(added, "id"),
          is_control ? control_token : user_defined_token);
    }
  }

  void put(const std::string& token, const Json& id, std::int32_t type) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= tokens_.size())
      fail("{}: token {}: expected an id below {}, the rows of the embedding", name_, quote(token),
           tokens_.size());
    tokens_[id.get<std::size_t>()] = token;
    types_[id.get<std::size_t>()] = type;
  }

  std::vector<std::string> merge_texts() const {
    std::vector<std::string> all;
    for (const Json& m : json_member(model_, "merges")) {
      if (m.is_string())
        all.push_back(m.get<std::string>());
      else if (m.is_array() && m.size() == 2 && m[0].is_string() && m[1].is_string())
        all.push_back(m[0].get<std::string>() + " " + m[1].get<std::string>());
      else
        fail("{}: 'merges': expected two tokens", name_);
    }
    return all;
  }

  void mark_bytes() {
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (tokens_[i].size() == 6 && tokens_[i].starts_with("<0x") && tokens_[i].back() == '>')
        types_[i] = byte_token;
    const Json& none = json_member(model_, "unk_token");
    if (none.is_string())
      if (const auto id = token_id(tokens_, none.get<std::string>()); id >= 0)
        types_[static_cast<std::size_t>(id)] = unknown_token;
  }

  // llama.cpp joins the neighbours whose token has the highest score: the merge that comes first.
  std::vector<float> scores(const std::vector<std::string>& merges) const {
    std::unordered_map<std::string, std::size_t> rank;
    for (std::size_t i = 0; i < merges.size(); ++i) {
      std::string joined = merges[i];
      joined.erase(joined.find(' ', 1), 1);
      rank.emplace(std::move(joined), i + 1);
    }
    std::vector<float> all(tokens_.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto at = rank.find(tokens_[i]);
      all[i] = types_[i] == user_defined_token ? added_score
               : types_[i] != normal_token     ? 0.0f
               : at != rank.end()              ? -static_cast<float>(at->second)
                                               : -static_cast<float>(merges.size() + 1);
    }
    return all;
  }

  bool adds_space() const {
    const Json& normalizer = json_member(json_, "normalizer");
    const Json& pre = json_member(json_, "pre_tokenizer");
    const std::string text = normalizer.dump() + pre.dump();
    return text.find("\"Prepend\"") != text.npos || json_member(pre, "prepend_scheme") == "first" ||
           json_member(pre, "prepend_scheme") == "always";
  }

  // llama.cpp's name of the pre-tokenizer.
  std::string splitting() const {
    const Json& pre = json_member(json_, "pre_tokenizer");
    const Json list = json_member(pre, "type") == "Sequence" ? json_member(pre, "pretokenizers")
                                                             : Json::array({pre});
    std::string regex;
    bool has_digits = false;
    for (const Json& p : list) {
      const Json& type = json_member(p, "type");
      has_digits |= type == "Digits" && is_true(json_member(p, "individual_digits"));
      if (type == "ByteLevel" && is_true(json_member(p, "add_prefix_space")))
        fail("{}: pre_tokenizer: 'add_prefix_space': expected false, as in llama.cpp, got true",
             name_);
      const Json& pattern = json_member(json_member(p, "pattern"), "Regex");
      if (type == "Split" && pattern.is_string()) regex = pattern.get<std::string>();
    }
    const std::string_view known =
        pre_tokenizer_name(regex, has_digits, is_true(json_member(model_, "ignore_merges")));
    if (known.empty()) fail("{}: pre_tokenizer: llama.cpp has no name for {}", name_, quote(regex));
    return std::string(known);
  }

  const std::string& name_;
  const Json& json_;
  const Json& model_;
  bool is_bytes_ = false;
  std::vector<std::string> tokens_;
  std::vector<std::int32_t> types_;
};

}  // namespace

void add_tokenizer_metadata(const NamedJson& tokenizer, const NamedJson& settings,
                            const NamedJson& config, std::size_t vocabulary, GgufMetadata& to) {
  TokenizerWriter writer(tokenizer, vocabulary);
  writer.add_to(to);
  add_special_tokens(
      writer.tokens(), settings.json, config.json,
      [&](const std::string& token, bool is_first) { return writer.adds(token, is_first); }, to);
}

}  // namespace sten
