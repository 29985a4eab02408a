// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/subword_tokenizer.h"

#include <algorithm>

#include "libsten/core/base/error.h"
#include "libsten/core/base/parallel.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/utf8.h"

namespace sten {
namespace {

// Size of the part of a text that a thread encodes.
constexpr std::size_t part_bytes = 1 << 18;

bool is_ascii_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Starts of parts, each at a line feed after an ASCII letter; see breaks_at_lines().
std::vector<std::size_t> part_begins(std::string_view text) {
  std::vector<std::size_t> begins{0};
  while (text.size() - begins.back() > part_bytes) {
    std::size_t at = begins.back() + part_bytes;
    do at = text.find('\n', at + 1);
    while (at != std::string_view::npos && !is_ascii_letter(text[at - 1]));
    if (at == std::string_view::npos) break;
    begins.push_back(at);
  }
  return begins;
}

}  // namespace

SubwordTokenizer::SubwordTokenizer(SubwordVocabulary subwords, SubwordOptions options)
    : subwords_(std::move(subwords)),
      around_(std::move(options.around)),
      special_(options.special),
      all_added_(std::move(options.added)) {
  name_ = subwords_.file();
  is_special_.resize(static_cast<std::size_t>(size()));
  is_added_.resize(is_special_.size());
  for (const AddedToken& t : all_added_) {
    is_added_[static_cast<std::size_t>(t.id)] = true;
    if (t.special) is_special_[static_cast<std::size_t>(t.id)] = true;
  }
  const SpecialIds& s = special_;
  for (const auto& id : {s.unk, s.cls, s.sep, s.mask, s.pad, s.bos, s.eos})
    if (id) is_special_[static_cast<std::size_t>(*id)] = true;
  for (TokenId id = 0; id < size(); ++id)
    if (subwords_.has(id) && !is_special_[static_cast<std::size_t>(id)]) ordinary_.push_back(id);
  if (ordinary_.empty()) fail("{}: no subwords found", name_);
}

void SubwordTokenizer::take_added() {
  std::vector<AddedToken> raw, after;
  for (AddedToken& t : all_added_) {
    if (!t.normalized) {
      raw.push_back(std::move(t));
      continue;
    }
    std::string buffer;
    const std::string content(t.is_normal_form ? t.content : normalized(t.content, buffer));
    if (content != t.content) normalized_entries_.emplace(t.id, content);
    t.content = content;
    after.push_back(std::move(t));
  }
  raw_ = AddedTokens(std::move(raw));
  normalized_ = AddedTokens(std::move(after));
}

std::string_view SubwordTokenizer::shown(TokenId id) const {
  const auto at = normalized_entries_.find(id);
  return at == normalized_entries_.end() ? entry(id) : std::string_view(at->second);
}

void SubwordTokenizer::append_all(std::string_view text, std::vector<TokenId>& out) const {
  SubwordCache cache(text.size());
  std::string buffer;
  const auto token = [&](TokenId id) { out.push_back(id); };
  raw_.split(
      text,
      [&](std::string_view part) {
        const std::string_view changed = normalized(part, buffer);
        const auto append_part = [&](std::string_view rest) {
          append(rest, part.data() == text.data() && rest.data() == changed.data(), cache, out);
        };
        normalized_.split(changed, append_part, token);
      },
      token);
}

Array<TokenId> SubwordTokenizer::encode(std::string_view text, const std::string& text_name) const {
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t at = i;
    if (next_code_point(text, i) < 0)
      fail("{}: {}: invalid UTF-8", printable(text_name), place_of(text, at));
  }
  std::vector<std::size_t> begins{0};
  if (breaks_at_lines() && raw_.end_with_lines() && normalized_.end_with_lines())
    begins = part_begins(text);
  std::vector<std::vector<TokenId>> parts(begins.size());
  const auto encode_part = [&](std::size_t p) {
    const std::size_t end = p + 1 < begins.size() ? begins[p + 1] : text.size();
    append_all(text.substr(begins[p], end - begins[p]), parts[p]);
  };
  try {
    parallel_for(std::ssize(parts), 1, [&](Index begin, Index end) {
      for (Index p = begin; p < end; ++p) encode_part(static_cast<std::size_t>(p));
    });
  } catch (const Error& e) {
    throw Error(e.fault(), fmt::format("{}: {}", printable(text_name), e.what()));
  }
  std::size_t n = 0;
  for (const auto& p : parts) n += p.size();
  Array<TokenId> ids = Array<TokenId>::uninitialized(n);
  TokenId* to = ids.mutate();
  for (auto& p : parts) {
    to = std::ranges::copy(p, to).out;
    p = {};
  }
  return ids;
}

TokenSequence SubwordTokenizer::sequence(std::span<const TokenId> a,
                                         const std::span<const TokenId>* b, Index most) const {
  const std::vector<TemplatePart>& parts = b ? around_.two : around_.one;
  const auto specials = std::ranges::count(parts, TemplatePart::token, &TemplatePart::kind);
  const Index room = std::max<Index>(0, most - specials);
  Index n = std::ssize(a), m = b ? std::ssize(*b) : 0;
  if (!b) n = std::min(n, room);
  if (b && n + m > room) {
    // Hugging Face's longest_first.
    Index less = std::min(n, m), more = std::max(less, room - less);
    if (less + more > room) less = room / 2, more = room - less;
    const bool swap = n > m;
    n = swap ? more : less;
    m = swap ? less : more;
  }
  TokenSequence s;
  const auto add = [&](std::span<const TokenId> ids, std::int32_t type) {
    s.ids.insert(s.ids.end(), ids.begin(), ids.end());
    s.types.resize(s.ids.size(), type);
  };
  for (const TemplatePart& p : parts) {
    if (p.kind == TemplatePart::token) add(std::span(&p.id, 1), p.type);
    if (p.kind == TemplatePart::first) add(a.first(static_cast<std::size_t>(n)), p.type);
    if (p.kind == TemplatePart::second) add(b->first(static_cast<std::size_t>(m)), p.type);
  }
  return s;
}

}  // namespace sten
