// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/tensors/safetensors.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/core/base/random.h"
#include "tests/support/bad_input.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using namespace std::string_view_literals;

namespace {

std::string file_error(const std::string& file) {
  return error_of(Fault::input, [&] { parse_safetensors(as_bytes(file), "in.safetensors"); });
}

void check_file_refused(const std::vector<BadInput>& cases) {
  for (const auto& [file, message] : cases) CHECK(file_error(file) == "in.safetensors: " + message);
}

// An entry of 'w' with these field values.
std::string w(std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return fmt::format(R"({{"w":{{"dtype":"{}","shape":{},"data_offsets":{}}}}})", dtype, shape,
                     offsets);
}

// An entry of U8, whose bytes equal its elements.
std::string bytes_entry(std::string_view name, int begin, int end) {
  return fmt::format(R"("{}":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}})", name,
                     end - begin, begin, end);
}

}  // namespace

TEST_CASE("entries and metadata are read in the order of the header") {
  const std::string file =
      safetensors_bytes(R"({"__metadata__":{"format":"pt","":"x"},)"
                        R"("b":{"dtype":"F32","shape":[2,3],"data_offsets":[2,26]},)"
                        R"("a":{"data_offsets":[0,2],"shape":[],"dtype":"BF16"}})",
                        std::string(26, '\0'));
  const SafetensorsHeader h = parse_safetensors(as_bytes(file), "in.safetensors");
  CHECK(h.metadata ==
        std::vector<std::pair<std::string, std::string>>{{"format", "pt"}, {"", "x"}});
  CHECK(h.data_offset == file.size() - 26);
  REQUIRE(h.entries.size() == 2);
  CHECK(h.entries[0].name == "b");
  CHECK(h.entries[0].dtype == DType::F32);
  CHECK(h.entries[0].shape == Shape{2, 3});
  CHECK(h.entries[0].begin == 2);
  CHECK(h.entries[0].end == 26);
  CHECK(h.entries[1].name == "a");
  CHECK(h.entries[1].dtype == DType::BF16);
  CHECK(h.entries[1].shape.empty());
}

TEST_CASE("unusual but valid safetensors files are accepted") {
  const std::string header = "{" + bytes_entry("a", 0, 2) + "}";
  const std::vector<std::string> files = {
      safetensors_bytes("{}"),
      safetensors_bytes(R"({"__metadata__":{}})"),
      safetensors_bytes(R"({"__metadata__":{"only":"metadata"}})"),
      safetensors_bytes(" \t\r\n" + header + "  \n\t\r ", "xx"),
      safetensors_bytes(w("F32", "[]", "[0,4]"), "xxxx"),
      safetensors_bytes(w("F32", "[0]", "[0,0]")),
      safetensors_bytes(w("F32", "[3,0,5]", "[0,0]")),
      safetensors_bytes(w("F4", "[2,3]", "[0,3]"), "xxx"),
      safetensors_bytes(w("F6_E2M3", "[4]", "[0,3]"), "xxx"),
      safetensors_bytes(w("C64", "[1]", "[0,8]"), "xxxxxxxx"),
      // any order, an empty tensor between others, and an unaligned tensor
      safetensors_bytes("{" + bytes_entry("c", 5, 9) + "," + bytes_entry("b", 5, 5) + "," +
                            bytes_entry("a", 0, 5) + "}",
                        "123456789"),
      safetensors_bytes("{" + bytes_entry("重み.層", 0, 1) + "," + bytes_entry("вес/a..b", 1, 1) +
                            "," + bytes_entry(R"(\u00e9 \ud83d\ude00)", 1, 1) + "}",
                        "x"),
      safetensors_bytes(
          w("U8", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,1]"),
          "x"),
      safetensors_bytes("{" + bytes_entry(std::string(4096, 'n'), 0, 1) + "}", "x"),
  };
  for (const std::string& file : files) {
    CAPTURE(file);
    CHECK(file_error(file) == "");
  }
}

TEST_CASE("files that are not safetensors are rejected, and known formats are named") {
  const std::string good = safetensors_bytes("{" + bytes_entry("a", 0, 4) + "}", "data");
  using namespace std::string_literals;
  check_file_refused({
      {"", "is empty"},
      {"\x08\0\0"s, "has 3 bytes, too few for a safetensors file"},
      {with_length(500, "{}"),
       "header length is 500 bytes, only 2 follow (is the file truncated?)"},
      {with_length(100'000'001, "{}"),
       "header length: expected at most 100000000 bytes, got 100000001"},
      {with_length(~0ull, "{}"),
       "header length: expected at most 100000000 bytes, got 18446744073709551615"},
      {with_length(~0ull - 7, "{}"),
       "header length: expected at most 100000000 bytes, got 18446744073709551608"},
      {with_length(0, ""), "header length is 0"},
      {with_length(0, "{}"), "header length is 0"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n",
       "is a Git LFS pointer to the file (`git lfs pull` fetches the file), not a "
       "safetensors file"},
      {"<!DOCTYPE html><html>",
       "is an HTML or XML page, such as a failed download leaves, not a safetensors file"},
      {"\xef\xbb\xbf\n<a/>",
       "is an HTML or XML page, such as a failed download leaves, not a safetensors file"},
      {R"({"error":"Repository not found"})",
       "is JSON text, such as the error message of a failed download, or an index file, not a "
       "safetensors file"},
      {"{}",
       "is JSON text, such as the error message of a failed download, or an index file, not a "
       "safetensors file"},
      {"\x80\x02\x8a\nl\xfc"
       "F\x9c F j",
       "is a Python pickle that torch.save() did not write, not a safetensors file"},
      {"\x80\x04\x95\x05\0\0\0\0\0\0\0\x8c"s,
       "is a Python pickle that torch.save() did not write, not a safetensors file"},
      {"PK\x03\x04\0\0\x08\x08"s + "archive",
       "is a zip archive, such as a PyTorch checkpoint, not a safetensors file"},
      {"PK\x03\x04\0\0\0\0"s + "archive",
       "is a zip archive, such as a PyTorch checkpoint, not a safetensors file"},
      {"GGUF\x03\0\0\0"s + "\1\0\0\0", "is a GGUF file, not a safetensors file"},
      {good.substr(0, good.size() - 1),
       "'a': ends at byte 4 of 3 bytes of data (is the file truncated?)"},
      {good + "12345", "5 bytes follow the data of the last tensor, 'a'"},
      {safetensors_bytes("{}", "x"), "1 bytes follow the data of a header without tensors"},
  });
}

TEST_CASE("a truncated safetensors file is reported as truncated, not as another format") {
  for (std::size_t length : {123, 0x280, 0x4b50, 0x3c3c}) {  // bytes: '{', pickle, 'PK', '<<'
    const std::string header = "{" + bytes_entry("a", 0, 4) + std::string(length, ' ');
    const std::string file = safetensors_bytes(header.substr(0, length - 1) + "}", "data");
    for (std::size_t n = 8; n < file.size(); n += 7)
      CHECK(file_error(file.substr(0, n)).find("is the file truncated?") != std::string::npos);
  }
}

TEST_CASE("tensors with invalid or inconsistent dtype, shape or offsets are rejected") {
  const std::string data(64, 'x');
  const auto file = [&](const std::string& header) { return safetensors_bytes(header, data); };
  const auto entries = [&](const std::string& list) { return file("{" + list + "}"); };
  std::string rank33 = "[1";
  for (int i = 1; i < 33; ++i) rank33 += ",1";
  check_file_refused({
      {file(w("F33", "[2]", "[0,8]")), "'w': unknown dtype 'F33'"},
      {file(w("f32", "[2]", "[0,8]")), "'w': unknown dtype 'f32'"},
      {file(w("F32", "[2]", "[8,0]")), "'w': data begin at 8 and end at 0"},
      {file(w("F32", "[17]", "[0,68]")),
       "'w': ends at byte 68 of 64 bytes of data (is the file truncated?)"},
      {file(w("U8", "[9223372036854775807]", "[0,9223372036854775807]")),
       "'w': shape [9223372036854775807]: expected at most 2^62 elements"},
      {entries(bytes_entry("a", 0, 40) + "," + bytes_entry("b", 30, 64)),
       "'a' and 'b' overlap: one ends at byte 40, the other begins at byte 30"},
      {entries(bytes_entry("b", 0, 64) + "," + bytes_entry("a", 0, 64)),
       "'b' and 'a' overlap: one ends at byte 64, the other begins at byte 0"},
      {entries(bytes_entry("a", 0, 64) + "," + bytes_entry("b", 30, 30)),
       "'a' and 'b' overlap: one ends at byte 64, the other begins at byte 30"},
      {entries(bytes_entry("b", 40, 64) + "," + bytes_entry("a", 0, 30)),
       "bytes 30 to 40 of the data, between 'a' and 'b', belong to no tensor"},
      {entries(bytes_entry("a", 8, 64)),
       "'a': expected the first tensor at byte 0 of the data, got byte 8"},
      {file(w("F32", "[8,3]", "[0,64]")), "'w': shape says 96 bytes, offsets say 64"},
      {file(w("F32", "[]", "[0,64]")), "'w': shape says 4 bytes, offsets say 64"},
      // 2^32 * 2^32 wraps to 0, and so do 2^61 elements of 8 bytes
      {file(w("U8", "[4294967296,4294967296]", "[0,0]")),
       "'w': shape [4294967296, 4294967296]: expected at most 2^62 elements"},
      {file(w("F64", "[2305843009213693952]", "[0,0]")),
       "'w': shape [2305843009213693952] of F64: expected at most 2^62 bits"},
      {file(w("U8", "[9007199254740993,0,9007199254740993]", "[0,0]")),
       "'w': shape [9007199254740993, 0, 9007199254740993]: expected at most 2^62 elements"},
      {file(w("U8", "[0,9007199254740993,9007199254740993]", "[0,0]")),
       "'w': shape [0, 9007199254740993, 9007199254740993]: expected at most 2^62 elements"},
      {file(w("U8", "[9007199254740993,9007199254740993,0]", "[0,0]")),
       "'w': shape [9007199254740993, 9007199254740993, 0]: expected at most 2^62 elements"},
      {file(w("F64", "[0,2305843009213693952]", "[0,0]")),
       "'w': shape [0, 2305843009213693952] of F64: expected at most 2^62 bits"},
      {file(w("U8", rank33 + "]", "[0,1]")), "'w': expected at most 32 dimensions"},
      {file(w("F4", "[3]", "[0,1]")), "'w': 3 elements of F4 have 12 bits: expected whole bytes"},
      {file(w("F6_E3M2", "[2]", "[0,2]")),
       "'w': 2 elements of F6_E3M2 have 12 bits: expected whole bytes"},
  });
}

TEST_CASE("byte_size handles sub-byte dtypes and rejects partial bytes") {
  CHECK(byte_size(DType::F32, {}) == 4);
  CHECK(byte_size(DType::F32, {2, 3}) == 24);
  CHECK(byte_size(DType::F4, {2, 3}) == 3);
  CHECK(byte_size(DType::F6_E2M3, {4}) == 3);
  CHECK(byte_size(DType::I64, {5, 0}) == 0);
  CHECK_THROWS_AS(byte_size(DType::F4, {1}), Error);
  CHECK_THROWS_AS(byte_size(DType::U8, {-1}), Error);
}

TEST_CASE("randomly corrupted safetensors files are either read or rejected with a message") {
  const std::string file = safetensors_bytes(
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"F4","shape":[4],"data_offsets":[8,10]}})",
      "0123456789");
  constexpr std::string_view favourites = "{}[]\",:0129-.e\\u \0\xff\x80"sv;
  for (std::uint64_t i = 0; i < 30'000; ++i) {
    std::string mutant = file;
    auto pick = [&, n = std::uint64_t{0}](std::size_t limit) mutable {
      return random_bits(i, n++) % limit;
    };
    for (std::uint64_t edits = 1 + pick(3); edits > 0; --edits) {
      const std::size_t at = pick(mutant.size());
      const char c = favourites[pick(favourites.size())];
      switch (pick(4)) {
        case 0:
          mutant[at] = c;
          break;
        case 1:
          mutant.insert(at, 1, c);
          break;
        case 2:
          mutant.erase(at, 1 + pick(4));
          break;
        default:
          mutant[pick(10)] = c;
      }
      if (mutant.empty()) break;
    }
    const std::string message = file_error(mutant);
    REQUIRE((message.empty() || message.starts_with("in.safetensors: ")));
    REQUIRE(message.find('\n') == std::string::npos);
  }
}
