#include "libsten/data/tokenizer/byte_pair_encoding.h"

#include <queue>

#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/utf8.h"
#include "libsten/data/tokenizer/gpt_words.h"
#include "libsten/data/tokenizer/unicode.h"

namespace sten {
namespace {

// The characters that stand for bytes: printable bytes for themselves, U+0100 and up for the
// others.
const std::array<std::int32_t, 256>& byte_characters() {
  static const auto all = [] {
    std::array<std::int32_t, 256> c;
    std::int32_t next = 256;
    for (std::int32_t b = 0; b < 256; ++b) {
      const bool is_printed = (b > 32 && b < 127) || (b > 160 && b != 173);
      c[static_cast<std::size_t>(b)] = is_printed ? b : next++;
    }
    return c;
  }();
  return all;
}

// The bytes of a subword; the subword itself if it has another character.
std::string bytes_of(std::string_view subword) {
  static const auto bytes = [] {
    std::unordered_map<std::int32_t, char> all;
    for (int b = 0; b < 256; ++b)
      all.emplace(byte_characters()[static_cast<std::size_t>(b)], static_cast<char>(b));
    return all;
  }();
  std::string out;
  for (std::size_t i = 0; i < subword.size();) {
    const auto at = bytes.find(next_code_point(subword, i));
    if (at == bytes.end()) return std::string(subword);
    out += at->second;
  }
  return out;
}

// A subword during merging; `next` and `last` are its neighbours.
struct Symbol {
  TokenId id;
  std::int32_t last, next;  // -1: none
  bool is_gone = false;
};

struct Candidate {
  std::int32_t rank, at;
  TokenId merged;
  friend bool operator>(const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
  }
};

}  // namespace

BytePairEncoding::BytePairEncoding(SubwordVocabulary all, SubwordOptions common, MergeRanks ranks,
                                   bool prefix_space)
    : SubwordTokenizer(std::move(all), std::move(common)),
      ranks_(std::move(ranks)),
      prefix_space_(prefix_space) {
  for (std::size_t b = 0; b < 256; ++b) {
    std::string character;
    append_utf8(byte_characters()[b], character);
    byte_ids_[b] = subwords().find(character).value_or(-1);
  }
  take_added();
}

void BytePairEncoding::add_merge(const SubwordVocabulary& subwords, std::string_view a,
                                 std::string_view b, std::int32_t rank, const std::string& place,
                                 MergeRanks& ranks) {
  const std::string both = std::string(a) + std::string(b);
  for (const std::string_view subword : {a, b, std::string_view(both)})
    if (!subwords.find(subword))
      fail("{}: merge {}: {} is not in {}", place, quote(std::string(a) + " " + std::string(b)),
           quote(subword), subwords.file());
  if (!ranks.add(*subwords.find(a), *subwords.find(b), {rank, *subwords.find(both)}))
    fail("{}: merge {} occurs twice", place, quote(std::string(a) + " " + std::string(b)));
}

void BytePairEncoding::append(std::string_view text, SubwordCache& cache,
                              std::vector<TokenId>& out) const {
  std::string prefixed;
  if (prefix_space_ && !text.starts_with(' ')) text = prefixed.append(1, ' ').append(text);
  const auto compute = [this](std::string_view word, std::vector<TokenId>& to) {
    append_word(word, to);
  };
  for_gpt_words(text, [&](std::string_view word) { cache.append(word, out, compute); });
}

void BytePairEncoding::append_word(std::string_view word, std::vector<TokenId>& out) const {
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    const auto at = static_cast<std::int32_t>(symbols.size());
    if (byte_ids_[byte] < 0) fail("{}: missing subword for the byte {:#04x}", name(), byte);
    symbols.push_back({byte_ids_[byte], at - 1, at + 1});
  }
  symbols.back().next = -1;
  std::vector<Candidate> memory;
  memory.reserve(2 * word.size());
  std::priority_queue queue(std::greater<Candidate>(), std::move(memory));
  const auto offer = [&](std::int32_t at) {
    if (at < 0 || symbols[at].next < 0) return;
    if (const BpeMerge* m = ranks_.find(symbols[at].id, symbols[symbols[at].next].id))
      queue.push({m->rank, at, m->merged});
  };
  for (std::int32_t i = 0; i + 1 < std::ssize(symbols); ++i) offer(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Symbol& a = symbols[best.at];
    if (a.is_gone || a.next < 0) continue;
    Symbol& b = symbols[a.next];
    // The pair may have changed.
    const BpeMerge* m = ranks_.find(a.id, b.id);
    if (!m || m->merged != best.merged) continue;
    a.id = best.merged;
    a.next = b.next;
    b.is_gone = true;
    if (a.next >= 0) symbols[a.next].last = best.at;
    offer(a.last);
    offer(best.at);
  }
  for (const Symbol& s : symbols)
    if (!s.is_gone) out.push_back(s.id);
}

std::string BytePairEncoding::decode(std::span<const TokenId> ids) const {
  std::string bytes;
  for (const TokenId id : ids)
    if (subwords().has(id) && !is_special(id)) bytes += bytes_of(entry(id));
  return with_replacements(bytes);
}

}  // namespace sten
