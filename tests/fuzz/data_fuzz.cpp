// SPDX-License-Identifier: Apache-2.0
// Fuzz target: files of training data (CSV, IDX, vocabularies, tokenizers, text).
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <string_view>

#include "libsten/core/base/utf8.h"
#include "libsten/data/csv.h"
#include "libsten/data/idx.h"
#include "libsten/data/tokenizer/files.h"
#include "libsten/data/tokenizer/vocabulary.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/tokenizer_inputs.h"

using namespace sten;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

void csv(fuzz::Bytes in) {
  CsvOptions options;
  options.header = static_cast<CsvOptions::Header>(in.below(3));
  if (const auto column = in.below(4)) options.label = std::to_string(column);
  const std::string_view text = in.rest();
  const Examples e = parse_csv(bytes_of(text), "input", options);
  const Index n = e.count();
  if (n < 1 || e.features.extents.size() != 2 || e.features.extents[0] != n)
    fuzz::broken("features and labels are not as many");
  // Each number takes at least one byte and a separator.
  if (static_cast<std::size_t>(n + e.features.size()) > text.size() / 2 + 1)
    fuzz::broken("more numbers than the text has room for");
  for (const float v : e.features.values.as<float>())
    if (!std::isfinite(v)) fuzz::broken("a feature is not finite");
  for (const std::int64_t y : e.labels.values.as<std::int64_t>())
    if (y < 0) fuzz::broken("a label is not a class");
}

void idx(fuzz::Bytes in) {
  const std::string_view file = in.rest();
  const Dense x = parse_idx(bytes_of(file), "input");
  if (x.values.bytes().size() + 4 + 4 * x.extents.size() != file.size())
    fuzz::broken("the elements are not the rest of the file");
  if (x.size() != size_of(x.extents)) fuzz::broken("the shape has other elements");
}

// The first byte is the length of the vocabulary in the input; the rest is the text.
void text(fuzz::Bytes in) {
  const std::size_t size = in.byte();
  const std::string_view all = in.rest();
  const Vocabulary v = Vocabulary::parse(bytes_of(all.substr(0, size)), "input");
  const std::string_view rest = all.substr(std::min(size, all.size()));
  const auto ids = v.encode(rest, "text");
  if (ids.size() > rest.size()) fuzz::broken("more characters than bytes");
  for (const TokenId id : ids)
    if (id < 0 || id >= v.size()) fuzz::broken("an id that the vocabulary does not have");
}

void check_encoding(const Tokenizer& t, std::string_view text) {
  const auto ids = t.encode(text, "text");
  for (const TokenId id : ids)
    if (id < 0 || id >= t.size()) fuzz::broken("an id that the tokenizer does not have");
  if (!is_utf8(t.decode({ids.begin(), ids.end()}))) fuzz::broken("decoded text is not UTF-8");
}

// A tokenizer.json up to the first byte 0; the rest is the text.
void tokenizer_file(fuzz::Bytes in) {
  const std::string_view all = in.rest();
  const std::size_t size = std::min(all.find('\0'), all.size());
  const auto t = parse_tokenizer({"input", all.substr(0, size)}, {});
  check_encoding(*t, all.substr(std::min(size + 1, all.size())));
}

// Every selection of steps is a tokenizer.
void tokenizer_steps(fuzz::Bytes in) {
  const std::string json = fuzz::tokenizer_json(in);
  std::shared_ptr<const Tokenizer> t;
  if (!fuzz::accepted([&] { t = parse_tokenizer({"input", json}, {}); }))
    fuzz::broken("a tokenizer is refused: " + json);
  check_encoding(*t, in.rest());
}

}  // namespace

// The first byte selects the kind of file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Bytes in(data, size);
  constexpr void (*targets[])(fuzz::Bytes) = {csv, idx, text, tokenizer_file, tokenizer_steps};
  const auto target = in.one_of(targets);
  fuzz::accepted([&] { target(in); });
  return 0;
}
