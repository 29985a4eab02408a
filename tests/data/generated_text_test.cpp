// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/tokenizer/generated_text.h"

#include <doctest/doctest.h>

#include "libsten/core/base/error.h"
#include "libsten/data/tokenizer/unicode.h"
#include "tests/support/temp_dir.h"

using namespace sten;

namespace {

// Tokens with the given bytes. As in SentencePiece, a decoded text does not start with a blank.
class ByteTokens final : public Tokenizer {
 public:
  explicit ByteTokens(std::vector<std::string> bytes) : bytes_(std::move(bytes)) {}
  std::string_view kind() const override { return "bytes"; }
  Index size() const override { return std::ssize(bytes_); }
  SpecialIds special_ids() const override { return {}; }
  const std::vector<TokenId>& ordinary() const override { return ordinary_; }
  std::string_view entry(TokenId id) const override { return bytes_[id]; }
  Array<TokenId> encode(std::string_view, const std::string&) const override { fail("no encoder"); }
  std::string decode(std::span<const TokenId> ids) const override {
    std::string all;
    for (const TokenId id : ids) all += bytes_[id];
    if (all.starts_with(' ')) all.erase(0, 1);
    return with_replacements(all);
  }

 private:
  std::vector<std::string> bytes_;
  std::vector<TokenId> ordinary_;
};

// The text that each token after the first `before` tokens adds, and then the text of finish().
std::vector<std::string> texts_of(const Tokenizer& tokenizer, const std::vector<std::int64_t>& ids,
                                  std::size_t before, std::vector<std::string> stops = {}) {
  GeneratedText text(tokenizer, std::span(ids).first(before), std::move(stops));
  std::vector<std::string> all;
  for (std::size_t i = before; i < ids.size(); ++i)
    all.push_back(text.add(static_cast<TokenId>(ids[i])));
  all.push_back(text.finish());
  return all;
}

std::vector<std::string> texts_of(std::vector<std::string> tokens,
                                  std::vector<std::string> stops = {}, std::size_t before = 0) {
  std::vector<std::int64_t> ids(tokens.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
  return texts_of(ByteTokens(std::move(tokens)), ids, before, std::move(stops));
}

// The same for entries of a tokenizer with byte_fallback.
std::vector<std::string> texts_of_fallback(const std::vector<std::string>& entries,
                                           std::size_t before = 0) {
  const TempDir dir;
  std::filesystem::copy_file(STEN_SOURCE_DIR "/tests/data/tokenizer/llama2.json",
                             dir / "tokenizer.json");
  const auto tokenizer = read_tokenizer(dir / "tokenizer.json");
  std::vector<std::int64_t> ids;
  for (const std::string& entry : entries)
    for (TokenId id = 0; id < tokenizer->size(); ++id)
      if (tokenizer->entry(id) == entry) ids.push_back(id);
  REQUIRE(ids.size() == entries.size());
  return texts_of(*tokenizer, ids, before);
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("generated text is returned token by token, in whole characters") {
  CHECK(texts_of({"To", " be", ","}) == Texts{"To", " be", ",", ""});
  // The euro sign and an emoji in parts; an incomplete character at the end becomes U+FFFD.
  CHECK(texts_of({"a", "\xe2", "\x82\xac", "\xf0\x9f", "\x98", "\x80!"}) ==
        Texts{"a", "", "\xe2\x82\xac", "", "", "\xf0\x9f\x98\x80!", ""});
  CHECK(texts_of({"a", "\xe2\x82"}) == Texts{"a", "", "\xef\xbf\xbd"});
}

TEST_CASE("the first token after a prompt keeps its leading space") {
  CHECK(texts_of({" be", " be"}) == Texts{"be", " be", ""});
  CHECK(texts_of({"To", " be"}, {}, 1) == Texts{" be", ""});
}

TEST_CASE("an invalid byte-fallback sequence does not change earlier text") {
  const std::string c3 = "<0xC3>", a9 = "<0xA9>", unknown = "\xef\xbf\xbd";
  CHECK(texts_of_fallback({"a", c3, a9, c3, "a", c3, a9}) ==
        Texts{"a", "", "\u00e9", "", unknown + "a", "", "\u00e9", ""});
  CHECK(texts_of_fallback({"a", c3, a9, c3}) == Texts{"a", "", "\u00e9", "", unknown});
  // A prompt of 12 bytes, whose last 8 bytes start inside a character.
  const std::vector<std::string> euro{"<0xE2>", "<0x82>", "<0xAC>"};
  std::vector<std::string> entries;
  for (int i = 0; i < 5; ++i) entries.insert(entries.end(), euro.begin(), euro.end());
  CHECK(texts_of_fallback(entries, 12) == Texts{"", "", "\u20ac", ""});
}

TEST_CASE("a stop text in one or several tokens ends the text and is not returned") {
  CHECK(texts_of({"a", "END", "b"}, {"END"}) == Texts{"a", "", "", ""});
  CHECK(texts_of({"aE", "N", "Db", "c"}, {"END"}) == Texts{"a", "", "", "", ""});
  // Text that was held back as the start of a stop text is returned if it is not one.
  CHECK(texts_of({"aE", "N", "x", "E"}, {"END"}) == Texts{"a", "", "ENx", "", "E"});
  CHECK(texts_of({"ab", "ab", "c"}, {"abc", "x"}) == Texts{"", "ab", "", ""});
  // The stop text that occurs first in the text counts.
  CHECK(texts_of({"one two three"}, {"three", "two"}) == Texts{"one ", ""});
}
