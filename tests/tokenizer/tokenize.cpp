// SPDX-License-Identifier: Apache-2.0
// Prints the output of tokenizers, for tests that compare it.
//   sten_tokenize TOKENIZER TEXTS      TEXTS: JSON list; prints a JSON line per text
//   sten_tokenize --time TOKENIZER FILE THREADS   prints MB/s on a text file, best of five
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include "libsten/core/base/json.h"
#include "libsten/core/base/parallel.h"
#include "libsten/data/tokenizer/tokenizer.h"
#include "libsten/files/system/data_file.h"

using namespace sten;

namespace {

std::vector<TokenId> list(const Array<TokenId>& ids) { return {ids.begin(), ids.end()}; }

// The error, if the text cannot be encoded.
nlohmann::ordered_json result(const Tokenizer& t, const std::string& text) {
  try {
    const auto ids = list(t.encode(text, "text"));
    const std::span<const TokenId> span(ids);
    const TokenSequence pair = t.sequence(span, &span, 24);
    return {{"ids", ids},
            {"sequence", t.sequence(ids, nullptr, 1 << 20).ids},
            {"pair", pair.ids},
            {"types", pair.types},
            {"text", t.decode(ids)}};
  } catch (const Error& e) {
    return {{"error", e.what()}};
  }
}

int compare(const std::string& tokenizer, const std::string& texts) {
  const auto t = read_tokenizer(tokenizer);
  const MappedFile file = open_data(texts);
  for (const auto& json : parse_json(text_of(file.bytes()), texts)) {
    const auto text = json.get<std::string>();
    fmt::print("{}\n", dump_json(result(*t, text)));
  }
  return 0;
}

int time(const std::string& tokenizer, const std::string& path, int n) {
  set_threads(n);
  const auto t = read_tokenizer(tokenizer);
  const MappedFile file = open_data(path);
  double best = 1e30;
  std::size_t count = 0;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    count = t->encode(text_of(file.bytes()), path).size();
    const std::chrono::duration<double> s = std::chrono::steady_clock::now() - begin;
    best = std::min(best, s.count());
  }
  const auto size = static_cast<double>(file.bytes().size());
  fmt::print("{:.1f} MB/s: {} bytes, {} ids, {} threads\n", 1e-6 * size / best, size, count, n);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> a(argv + 1, argv + argc);
  try {
    if (a.size() == 2) return compare(a[0], a[1]);
    if (a.size() == 4 && a[0] == "--time") return time(a[1], a[2], std::atoi(a[3].c_str()));
    fmt::print(stderr, "usage: sten_tokenize TOKENIZER TEXTS\n");
  } catch (const Error& e) {
    fmt::print(stderr, "{}\n", e.what());
  }
  return 2;
}
