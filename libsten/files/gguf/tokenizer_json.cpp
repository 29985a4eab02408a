// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/gguf/tokenizer_json.h"

#include <algorithm>
#include <unordered_map>

#include "libsten/core/base/error.h"
#include "libsten/core/base/json.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/utf8.h"
#include "libsten/files/gguf/pre_tokenizers.h"
#include "libsten/files/gguf/recovered_merges.h"
#include "libsten/files/gguf/special_tokens.h"
#include "libsten/files/gguf/token_types.h"

namespace sten {
namespace {

constexpr std::string_view block = "\xe2\x96\x81";  // U+2581, a space in SentencePiece

std::string json_text(std::string_view text) { return nlohmann::json(text).dump(); }

class TokenizerReader {
 public:
  TokenizerReader(const GgufFile& file, const std::string& name)
      : file_(file), name_(name), model_(file.text("tokenizer.ggml.model")) {
    if (model_ != "gpt2" && model_ != "llama")
      fail("{}: metadata 'tokenizer.ggml.model': expected gpt2 or llama, got {}", name_,
           quote(model_));
    const GgufValue* tokens = file.find("tokenizer.ggml.tokens");
    if (!tokens) fail("{}: missing 'tokenizer.ggml.tokens' in the metadata", name_);
    for (const std::string_view t : tokens->texts()) tokens_.emplace_back(t);
    if (tokens_.empty()) fail("{}: 'tokenizer.ggml.tokens': expected a list of texts", name_);
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (!is_utf8(tokens_[i])) fail("{}: token {} is not UTF-8", name_, i);
    if (const GgufValue* types = file.find("tokenizer.ggml.token_type")) types_ = types->reals();
    types_.resize(tokens_.size());
    if (is_gemma()) respell_spaces();
  }

  std::string text() const { return model_ == "gpt2" ? byte_level() : sentencepiece(); }

  std::string config() const {
    nlohmann::ordered_json j;
    for (const auto& [gguf, config] :
         {std::pair("bos", "bos_token"), std::pair("eos", "eos_token"),
          std::pair("unknown", "unk_token"), std::pair("padding", "pad_token")})
      if (const auto id = token_id(gguf)) j[config] = tokens_[*id];
    const std::string_view chat = file_.text("tokenizer.chat_template");
    if (!chat.empty()) {
      if (!is_utf8(chat)) fail("{}: metadata 'tokenizer.chat_template' is not UTF-8", name_);
      j["chat_template"] = std::string(chat);
    }
    const auto context = file_.integer(fmt::format("{}.context_length", file_.architecture()));
    if (context) j["model_max_length"] = *context;
    j["clean_up_tokenization_spaces"] = false;
    j["tokenizer_class"] = "PreTrainedTokenizerFast";
    return dump_json(j, 2) + "\n";
  }

 private:
  using Vocabulary = std::unordered_map<std::string_view, std::size_t>;

  bool is_gemma() const { return model_ == "llama" && file_.architecture().starts_with("gemma"); }

  // GGUF files of Gemma have tokens of several spaces as spaces.
  void respell_spaces() {
    for (std::string& t : tokens_) {
      if (t.size() < 2 || t.find_first_not_of(' ') != t.npos) continue;
      std::string spaces;
      for (std::size_t i = 0; i < t.size(); ++i) spaces += block;
      t = spaces;
    }
  }

  std::optional<std::size_t> token_id(std::string_view kind) const {
    const std::string key = fmt::format("tokenizer.ggml.{}_token_id", kind);
    const auto id = file_.integer(key);
    if (!id || *id == 0xffffffff) return std::nullopt;  // -1: none
    if (*id < 0 || static_cast<std::size_t>(*id) >= tokens_.size())
      fail("{}: metadata {}: expected one of {} tokens, got {}", name_, quote(key), tokens_.size(),
           *id);
    return static_cast<std::size_t>(*id);
  }

  bool is_added(std::size_t i) const {
    return types_[i] == user_defined_token || types_[i] == control_token;
  }

  std::string added_tokens() const {
    const bool is_phi3 = is_phi3_name(file_.text("general.name"));
    const auto strips = [&](const std::string& token) {
      return is_phi3 && std::ranges::count(phi3_unstripped, token) == 0;
    };
    std::string text = "[";
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (is_added(i))
        text += fmt::format(
            R"({}{{"id":{},"content":{},"single_word":false,"lstrip":false,"rstrip":{},"normalized":false,"special":{}}})",
            text.size() > 1 ? "," : "", i, json_text(tokens_[i]), strips(tokens_[i]),
            types_[i] == control_token);
    return text + "]";
  }

  // The tokens by text, and as a JSON object: of two with one text the last.
  Vocabulary vocabulary() const {
    Vocabulary all;
    for (std::size_t i = 0; i < tokens_.size(); ++i) all[tokens_[i]] = i;
    return all;
  }
  std::string vocabulary_json(const Vocabulary& all) const {
    std::string text = "{";
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (all.at(tokens_[i]) == i)
        text += fmt::format("{}{}:{}", text.size() > 1 ? "," : "", json_text(tokens_[i]), i);
    return text + "}";
  }

  // Pairs of texts that the file lists as "LEFT RIGHT".
  std::string merges_json() const {
    const GgufValue* merges = file_.find("tokenizer.ggml.merges");
    std::string text = "[";
    const auto all = merges ? merges->texts() : std::vector<std::string_view>();
    for (const std::string_view m : all) {
      const std::size_t cut = m.find(' ', 1);
      if (cut == m.npos || !is_utf8(m))
        fail("{}: metadata 'tokenizer.ggml.merges': expected two tokens, got {}", name_, quote(m));
      text += fmt::format("{}[{},{}]", text.size() > 1 ? "," : "", json_text(m.substr(0, cut)),
                          json_text(m.substr(cut + 1)));
    }
    return text + "]";
  }

  std::string recovered_merges() const {
    std::vector<double> scores;
    if (const GgufValue* s = file_.find("tokenizer.ggml.scores")) scores = s->reals();
    if (is_gemma()) {  // the order of its tokens is that of its merges
      scores.resize(tokens_.size());
      for (std::size_t i = 0; i < tokens_.size(); ++i) scores[i] = -static_cast<double>(i);
    }
    if (scores.size() != tokens_.size())
      fail("{}: expected 'tokenizer.ggml.merges', or a score per token", name_);
    std::string text = "[";
    for (const auto& [left, right] : sten::recovered_merges(tokens_, scores))
      text += fmt::format("{}[{},{}]", text.size() > 1 ? "," : "", json_text(tokens_[left]),
                          json_text(tokens_[right]));
    return text + "]";
  }

  // Adds the first and the last token that the model expects.
  std::string post_processor(bool adds_first, const std::string& otherwise) const {
    const auto first = adds_first ? token_id("bos") : std::nullopt;
    const auto last = file_.boolean("tokenizer.ggml.add_eos_token").value_or(false)
                          ? token_id("eos")
                          : std::nullopt;
    if (!first && !last) return otherwise;
    std::string special;
    const auto item = [&](std::size_t id, int type) {
      const std::string token = json_text(tokens_[id]);
      const std::string entry =
          fmt::format(R"({}:{{"id":{},"ids":[{}],"tokens":[{}]}})", token, token, id, token);
      if (special.find(entry) == special.npos) special += (special.empty() ? "" : ",") + entry;
      return fmt::format(R"({{"SpecialToken":{{"id":{},"type_id":{}}}}})", token, type);
    };
    const auto sequence = [&](const char* which, int type) {
      std::string text = first ? item(*first, type) + "," : "";
      text += fmt::format(R"({{"Sequence":{{"id":"{}","type_id":{}}}}})", which, type);
      return last ? text + "," + item(*last, type) : text;
    };
    const std::string single = sequence("A", 0), second = sequence("B", 1);
    return fmt::format(
        R"({{"type":"TemplateProcessing","single":[{}],"pair":[{},{}],"special_tokens":{{{}}}}})",
        single, single, second, special);
  }

  std::string document(const std::string& normalizer, const std::string& pre,
                       const std::string& post, const std::string& decoder,
                       const std::string& model) const {
    return fmt::format(
        R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":{},"normalizer":{},)"
        R"("pre_tokenizer":{},"post_processor":{},"decoder":{},"model":{}}})"
        "\n",
        added_tokens(), normalizer, pre, post, decoder, model);
  }

  std::string byte_level() const {
    const std::string_view name = file_.text("tokenizer.ggml.pre");
    const std::string pre = pre_tokenizer_json(name);
    if (pre.empty())
      fail("{}: metadata 'tokenizer.ggml.pre': unknown splitting of text {}", name_, quote(name));
    const bool is_tiktoken = pre_tokenizer_ignores_merges(name);
    constexpr const char bytes[] =
        R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})";
    const std::string model = fmt::format(
        R"({{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,)"
        R"("end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,"ignore_merges":{},)"
        R"("vocab":{},"merges":{}}})",
        is_tiktoken, vocabulary_json(vocabulary()), merges_json());
    const bool adds_first = file_.boolean("tokenizer.ggml.add_bos_token").value_or(is_tiktoken);
    return document(pre_tokenizer_normalizer(name), pre, post_processor(adds_first, bytes), bytes,
                    model);
  }

  std::string sentencepiece() const {
    const Vocabulary all = vocabulary();
    const bool adds_space =
        !is_gemma() && file_.boolean("tokenizer.ggml.add_space_prefix").value_or(true);
    const auto unknown = token_id("unknown");
    const std::string model = fmt::format(
        R"({{"type":"BPE","dropout":null,"unk_token":{},"continuing_subword_prefix":null,)"
        R"("end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":true,"ignore_merges":false,)"
        R"("vocab":{},"merges":{}}})",
        unknown ? json_text(tokens_[*unknown]) : "null", vocabulary_json(all),
        file_.find("tokenizer.ggml.merges") ? merges_json() : recovered_merges());
    const std::string replace =
        fmt::format(R"({{"type":"Replace","pattern":{{"String":" "}},"content":"{}"}})", block);
    const std::string normalizer =
        adds_space
            ? fmt::format(
                  R"({{"type":"Sequence","normalizers":[{{"type":"Prepend","prepend":"{}"}},{}]}})",
                  block, replace)
            : replace;
    const std::string decoder = fmt::format(
        R"({{"type":"Sequence","decoders":[{{"type":"Replace","pattern":{{"String":"{}"}},"content":" "}},)"
        R"({{"type":"ByteFallback"}},{{"type":"Fuse"}}{}]}})",
        block, adds_space ? R"(,{"type":"Strip","content":" ","start":1,"stop":0})" : "");
    const bool adds_first = file_.boolean("tokenizer.ggml.add_bos_token").value_or(true);
    return document(normalizer, "null", post_processor(adds_first, "null"), decoder, model);
  }

  const GgufFile& file_;
  const std::string& name_;
  std::string_view model_;
  std::vector<std::string> tokens_;
  std::vector<double> types_;
};

}  // namespace

bool has_gguf_tokenizer(const GgufFile& file) { return file.find("tokenizer.ggml.tokens"); }

std::string gguf_tokenizer_json(const GgufFile& file, const std::string& file_name) {
  const std::string name = printable(file_name);
  return TokenizerReader(file, name).text();
}

std::string gguf_tokenizer_config_json(const GgufFile& file, const std::string& file_name) {
  const std::string name = printable(file_name);
  return TokenizerReader(file, name).config();
}

}  // namespace sten
