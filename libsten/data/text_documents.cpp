// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/text_documents.h"

#include <algorithm>

#include "libsten/core/base/json_reader.h"
#include "libsten/core/base/text.h"
#include "libsten/data/examples.h"
#include "libsten/data/json_lines.h"
#include "libsten/data/tokenizer/chat_template.h"
#include "libsten/files/system/data_file.h"

namespace sten {
namespace {

using Ids = std::vector<TokenId>;

enum class DocumentKind : std::uint8_t { text, completion, chat };

const char* keys_of(DocumentKind k) {
  return k == DocumentKind::text         ? "text"
         : k == DocumentKind::completion ? "prompt and completion"
                                         : "messages";
}

DocumentKind document_kind(const JsonReader& line) {
  (void)line.members();  // fails unless the line is an object
  const bool text = line.has("text"), chat = line.has("messages"),
             completion = line.has("prompt") || line.has("completion");
  if (text + chat + completion != 1)
    line.fail("expected one of text, prompt and completion, or messages");
  return text ? DocumentKind::text : chat ? DocumentKind::chat : DocumentKind::completion;
}

Index common_prefix(const Ids& a, const Ids& b) {
  return std::ranges::mismatch(a, b).in1 - a.begin();
}

class DocumentPacker {
 public:
  DocumentPacker(const Tokenizer& tokenizer, const DocumentOptions& options)
      : tokenizer_(tokenizer), options_(options) {}

  void add_text(const std::string& path, bool is_last) {
    if (options_.completion_only_loss)
      fail("{}: expected prompt and completion, or messages, for completion_only_loss, got a text",
           printable(path));
    const Array<TokenId> ids = read_text(path, tokenizer_);
    packed_.insert(packed_.end(), ids.begin(), ids.end());
    if (!is_last) packed_.push_back(end_token());
  }

  void add_lines(const std::string& path) {
    const MappedFile file = open_data(path);
    const std::string name = printable(path);
    std::optional<DocumentKind> kind;
    Index first = 0;
    each_json_line(text_of(file.bytes()), name, [&](Index number, const auto& json) {
      here_ = fmt::format("{}: line {}", name, number);
      const JsonReader line(json, here_, Fault::input);
      const DocumentKind k = document_kind(line);
      if (!kind) kind = k, first = number;
      if (k != *kind)
        line.fail(
            fmt::format("expected {} as in line {}, got {}", keys_of(*kind), first, keys_of(k)));
      const Index begin = std::ssize(packed_);
      add_line(k, line);
      indivisible_.emplace_back(begin, std::ssize(packed_));
    });
    file.check_unchanged();
    if (!kind) fail("{}: expected documents, got none", name);
  }

  Index size() const { return std::ssize(packed_); }
  std::span<const TokenId> from(Index begin) const {
    return std::span(packed_).subspan(static_cast<std::size_t>(begin));
  }

  PackedDocuments packed() && {
    PackedDocuments p{Array<TokenId>::uninitialized(packed_.size()), {}, std::move(indivisible_)};
    std::ranges::copy(packed_, p.tokens.mutate());
    p.targets = p.tokens;
    if (options_.completion_only_loss) {
      p.targets = Array<TokenId>::uninitialized(packed_.size());
      TokenId* const to = p.targets.mutate();
      std::fill_n(to, packed_.size(), static_cast<TokenId>(ignored_label));
      for (const auto& [begin, end] : counted_)
        std::copy(packed_.begin() + begin, packed_.begin() + end, to + begin);
    }
    return p;
  }

 private:
  using Ranges = std::vector<std::pair<Index, Index>>;

  void add(const Ids& ids, const Ranges& counted) {
    for (const auto& [begin, end] : counted) counted_.emplace_back(size() + begin, size() + end);
    packed_.insert(packed_.end(), ids.begin(), ids.end());
  }

  void add_line(DocumentKind kind, const JsonReader& line) {
    if (kind == DocumentKind::chat) return add_chat(line["messages"]);
    if (kind == DocumentKind::text) {
      if (options_.completion_only_loss)
        line.fail(
            "expected prompt and completion, or messages, for completion_only_loss, got text");
      return add(ended(sequence(line["text"].text())), {});
    }
    const std::string prompt = line["prompt"].text(), completion = line["completion"].text();
    if (completion.empty()) line["completion"].fail("expected a non-empty value");
    const Ids ids = ended(sequence(prompt + completion));
    add(ids, {{common_prefix(sequence(prompt), ids), std::ssize(ids)}});
  }

  void add_chat(const JsonReader& list) {
    const std::vector<ChatMessage> messages = chat_messages(list);
    const auto first = [&](std::size_t n) { return std::span(messages).first(n); };
    const std::string text = rendered(first(messages.size()), false);
    const Ids ids = encode(text);
    Ranges counted;
    for (std::size_t k = 0; k < messages.size() && options_.completion_only_loss; ++k) {
      if (messages[k].role != "assistant") continue;
      const std::string before = rendered(first(k), true), through = rendered(first(k + 1), false);
      check_appends(before, k, through, k + 1);
      check_appends(through, k + 1, text, messages.size());
      const Index begin = common_prefix(encode(before), ids);
      counted.emplace_back(begin, after_end_token(ids, begin, common_prefix(encode(through), ids)));
    }
    add(ids, counted);
  }

  // Error unless the text of the first `n` messages begins the text of the first `more`.
  void check_appends(const std::string& text, std::size_t n, const std::string& longer,
                     std::size_t more) const {
    if (!longer.starts_with(text))
      fail(
          "{}: completion_only_loss needs a chat template that only appends messages, but the text "
          "of the first {} is not a prefix of the text of {}",
          here_, n, more);
  }

  // After the last end token in [begin, end); `end` if there is none.
  Index after_end_token(const Ids& ids, Index begin, Index end) const {
    const auto eos = tokenizer_.special_ids().eos;
    for (Index i = end; eos && i > begin; --i)
      if (ids[static_cast<std::size_t>(i - 1)] == *eos) return i;
    return end;
  }

  std::string rendered(std::span<const ChatMessage> messages, bool is_prompt) {
    try {
      if (!chat_) {
        const auto source = ChatTemplateSource::read(options_.vocabulary);
        if (!source)
          fail("messages need a chat template, not found beside {}",
               printable(options_.vocabulary));
        chat_.emplace(*source);
      }
      return is_prompt ? chat_->prompt(messages) : chat_->conversation(messages);
    } catch (const Error& e) {
      fail("{}: {}", here_, e.what());
    }
  }

  Ids encode(const std::string& text) const {
    const Array<TokenId> ids = tokenizer_.encode(text, here_);
    return {ids.begin(), ids.end()};
  }
  Ids sequence(const std::string& text) const {
    return tokenizer_.sequence(encode(text), nullptr, max_token_id).ids;
  }
  TokenId end_token() const {
    return tokenizer_.need(tokenizer_.special_ids().eos,
                           "eos_token, the end token after documents");
  }
  Ids ended(Ids ids) const {
    const TokenId end = end_token();
    if (ids.empty() || ids.back() != end) ids.push_back(end);
    return ids;
  }

  const Tokenizer& tokenizer_;
  const DocumentOptions& options_;
  std::optional<ChatTemplate> chat_;
  std::string here_;  // "FILE: line N"
  Ids packed_;
  Ranges counted_;  // used with completion_only_loss
  Ranges indivisible_;
};

}  // namespace

Index PackedDocuments::boundary(Index token) const {
  const auto range =
      std::ranges::partition_point(indivisible, [&](const auto& r) { return r.second <= token; });
  if (range == indivisible.end() || range->first >= token) return token;
  return token - range->first < range->second - token ? range->first : range->second;
}

Index PackedDocuments::counted(Index begin, Index end) const {
  return end - begin - std::count(targets.begin() + begin, targets.begin() + end, ignored_label);
}

PackedDocuments read_documents(std::span<const std::string> files, const Tokenizer& tokenizer,
                               const DocumentOptions& options) {
  DocumentPacker all(tokenizer, options);
  for (const std::string& file : files) {
    const Index begin = all.size();
    if (file.ends_with(".jsonl"))
      all.add_lines(file);
    else
      all.add_text(file, &file == &files.back());
    check_known(all.from(begin), tokenizer, file, options.vocabulary);
  }
  return std::move(all).packed();
}

void check_known(Index unknown, Index all, const std::string& text, const std::string& vocabulary) {
  if (2 * unknown > all)
    fail("{}: expected a text of known tokens: {:.0f} % are unknown to {}", printable(text),
         100.0 * static_cast<double>(unknown) / static_cast<double>(all), printable(vocabulary));
}

void check_known(std::span<const TokenId> ids, const Tokenizer& tokenizer, const std::string& text,
                 const std::string& vocabulary) {
  const SpecialIds special = tokenizer.special_ids();
  if (special.unk && special.unk != special.eos)
    check_known(std::ranges::count(ids, *special.unk), std::ssize(ids), text, vocabulary);
}

}  // namespace sten
