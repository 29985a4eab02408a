#include "libsten/data/tokenizer/tokenizer.h"

#include <doctest/doctest.h>

#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

using Ids = std::vector<TokenId>;

Ids encoded(const Tokenizer& t, std::string_view text) {
  const Array<TokenId> ids = t.encode(text, "text");
  return {ids.begin(), ids.end()};
}

// 0 [PAD], 1 [UNK], 2 [CLS], 3 [SEP], 4 [MASK], 5 un, 6 ##aff, 7 ##able, 8 cafe, 9 !, 10 東, 11 a
std::string word_pieces(const TempDir& dir) {
  return dir.write("vocab.txt",
                   "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\ncafe\n!\n東\na\n");
}

}  // namespace

TEST_CASE("WordPiece takes the longest pieces of words without case and accents") {
  const TempDir dir;
  const auto t = read_tokenizer(word_pieces(dir));
  CHECK(t->kind() == "WordPiece");
  CHECK(t->size() == 12);
  CHECK(encoded(*t, "unaffable") == Ids{5, 6, 7});
  CHECK(encoded(*t, "Café!") == Ids{8, 9});
  CHECK(encoded(*t, "CAFE\u0301\t!\n") == Ids{8, 9});
  CHECK(encoded(*t, "a東a") == Ids{11, 10, 11});
  CHECK(encoded(*t, "unkind a") == Ids{1, 11});
  CHECK(encoded(*t, "a[MASK] a") == Ids{11, 4, 11});
  CHECK(encoded(*t, std::string(101, 'a')) == Ids{1});
  CHECK(encoded(*t, "").empty());
  CHECK(t->decode(Ids{2, 5, 6, 7, 9, 3}) == "unaffable!");
  const Ids a{5, 6, 7, 9}, b{11};
  const std::span<const TokenId> second(b);
  const TokenSequence both = t->sequence(a, &second, 6);
  CHECK(both.ids == Ids{2, 5, 6, 3, 11, 3});
  CHECK(both.types == std::vector<std::int32_t>{0, 0, 0, 0, 1, 1});
  CHECK(t->around() == 2);
}

TEST_CASE("a tokenizer_config.json says whether case and accents count") {
  const TempDir dir;
  const std::string file = word_pieces(dir);
  dir.write("tokenizer_config.json", R"({"do_lower_case": false})");
  const auto t = read_tokenizer(file);
  CHECK(encoded(*t, "cafe Café") == Ids{8, 1});
}

TEST_CASE("byte pairs merge in the order of their ranks, and every byte has a piece") {
  const TempDir dir;
  std::string vocabulary = R"({"<|endoftext|>": 0, "h": 1, "e": 2, "l": 3, "o": 4, "Ġ": 5,)";
  vocabulary += R"("he": 6, "ll": 7, "hell": 8, "hello": 9, "Ġh": 10, "Ã": 11, "©": 12})";
  dir.write("vocab.json", vocabulary);
  dir.write("merges.txt", "#version: 0.2\nh e\nl l\nhe ll\nhell o\nĠ h\n");
  const auto t = read_tokenizer(dir / "vocab.json");
  CHECK(t->kind() == "byte-level BPE");
  CHECK(encoded(*t, "hello") == Ids{9});
  // "h e" comes before "Ġ h".
  CHECK(encoded(*t, "hello hello") == Ids{9, 5, 9});
  CHECK(encoded(*t, "ho ho") == Ids{1, 4, 10, 4});
  CHECK(encoded(*t, "é") == Ids{11, 12});
  CHECK(encoded(*t, "hello<|endoftext|>he") == Ids{9, 0, 6});
  CHECK(t->decode(Ids{9, 5, 9, 0, 11, 12}) == "hello hello\u00e9");
}

TEST_CASE("a vocabulary that is damaged is refused with its file") {
  const TempDir dir;
  const auto refused = [&](const char* name, const std::string& text) {
    const std::string file = dir.write(name, text);
    const std::string error = error_of([&] { read_tokenizer(file); });
    CAPTURE(error);
    CHECK(has(error, name));
  };
  refused("vocab.txt", "");
  refused("vocab.txt", "[UNK]\na\na\n");
  refused("vocab.txt", "a\nb\n");  // without [UNK]
  refused("vocab.txt", "[UNK]\n\xff\n");
  refused("tokenizer.json", "{");
  refused("tokenizer.json", R"({"model": {"type": "Unigram", "vocab": []}})");
  CHECK(error_of([&] { read_tokenizer(dir / "none"); }) != "");
}
