// SPDX-License-Identifier: Apache-2.0
// Headers of GGUF files: what is read, and hostile files.
#include "libsten/files/gguf/gguf_file.h"

#include <doctest/doctest.h>

#include "libsten/core/base/error.h"
#include "tests/support/bad_input.h"
#include "tests/support/gguf_bytes.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using namespace std::string_literals;

namespace {

using namespace gguf_kind;

GgufFile parsed(const std::string& bytes) { return parse_gguf(as_bytes(bytes), "m.gguf"); }

std::string parse_error(const std::string& bytes) {
  return error_of([&] { parsed(bytes); });
}

GgufBytes small() {
  return {.metadata = {gguf_entry("general.architecture", text, gguf_text("llama")),
                       gguf_entry("general.alignment", u32, gguf_number(32u))},
          .tensors = {gguf_tensor("a", {3, 2}, 0, 0), gguf_tensor("b", {32}, 8, 32)},
          .data = std::string(66, '\0')};
}

}  // namespace

TEST_CASE("GGUF metadata and tensors are parsed, with row-major shapes") {
  GgufBytes file = small();
  for (const std::uint32_t version : {2u, 3u}) {
    file.version = version;
    const std::string bytes = file.str();
    const GgufFile f = parsed(bytes);
    CHECK(f.version == version);
    CHECK(f.architecture() == "llama");
    REQUIRE(f.tensors.size() == 2);
    CHECK(f.tensors[0].shape == Shape{2, 3});
    CHECK(f.tensors[0].end - f.tensors[0].begin == 24);
    CHECK(f.tensors[1].type->name == "Q8_0");
    CHECK(f.tensors[1].begin == f.tensors[0].begin + 32);
    CHECK(f.tensors[1].end == bytes.size());
  }
  file.metadata.push_back(gguf_entry("flag", boolean, "\1"));
  file.metadata.push_back(gguf_entry(
      "words", array,
      gguf_number(text) + gguf_number(std::uint64_t{2}) + gguf_text("x") + gguf_text("")));
  file.metadata.push_back(gguf_entry("many", u64, gguf_number(std::uint64_t{1} << 40)));
  const std::string bytes = file.str();
  const GgufFile f = parsed(bytes);
  CHECK(f.boolean("flag") == true);
  CHECK(f.find("words")->texts() == std::vector<std::string_view>{"x", ""});
  CHECK(f.integer("many") == std::int64_t{1} << 40);
  CHECK(!f.integer("flag"));
  CHECK(f.text("none") == "");
}

TEST_CASE("malformed GGUF files are rejected with the offending item and values") {
  const auto with = [](auto change) {
    GgufBytes file = small();
    change(file);
    return file.str();
  };
  const std::uint64_t huge = ~std::uint64_t{0};
  const auto metadata = [&](const std::string& entry) {
    return with([&](GgufBytes& f) { f.metadata.push_back(entry); });
  };
  const auto tensor = [&](const std::string& t) {
    return with([&](GgufBytes& f) { f.tensors[1] = t; });
  };
  std::string nested = gguf_entry("k", array, "");
  for (int i = 0; i < 6; ++i) nested += gguf_number(array) + gguf_number(std::uint64_t{1});
  const BadInput cases[] = {
      {"GGUF", "the version takes 4 bytes, only 0 follow (is the file truncated?)"},
      {with([](auto& f) { f.version = 1; }), "GGUF version: expected 2 or 3, got 1"},
      {with([](auto& f) { f.version = 0x03000000; }), "expected a little-endian GGUF file"},
      {"GGUF\3\0\0\0"s + gguf_number(huge) + gguf_number(huge),
       "expected at most 1000000 tensors, got 18446744073709551615"},
      {"GGUF\3\0\0\0"s + gguf_number(std::uint64_t{0}) + gguf_number(std::uint64_t{900'000}),
       "a metadata key takes 8 bytes, only 0 follow (is the file truncated?)"},
      {metadata(gguf_number(huge)), "a metadata key takes 18446744073709551615 bytes, only"},
      {metadata(gguf_entry("", u32, gguf_number(1u))),
       "metadata key 2: expected 1 to 65535 bytes, got 0"},
      {metadata(gguf_entry("general.alignment", u32, gguf_number(32u))),
       "metadata 'general.alignment' appears twice"},
      {metadata(gguf_entry("k", 13, "")), "metadata 'k': unknown type 13"},
      {metadata(gguf_entry("k", boolean, "\2")), "metadata 'k': expected a flag of 0 or 1, got 2"},
      {metadata(gguf_entry("k", array, gguf_number(u64) + gguf_number(huge))),
       "metadata 'k': 18446744073709551615 elements of 8 bytes, only"},
      {metadata(gguf_entry("k", array, gguf_number(text) + gguf_number(huge))),
       "metadata 'k' takes"},
      {metadata(nested), "metadata 'k': arrays nest deeper than 4"},
      {with(
           [](auto& f) { f.metadata[1] = gguf_entry("general.alignment", u32, gguf_number(24u)); }),
       "metadata 'general.alignment': expected a power of 2"},
      {tensor(gguf_tensor("", {32}, 8, 32)), "a tensor has an empty name"},
      {tensor(gguf_tensor("a", {32}, 8, 32)), "duplicate tensor name 'a'"},
      {tensor(gguf_tensor("../b\n", {32}, 8, 32)), "'../b\\n': "},
      {tensor(gguf_tensor("b", {1, 1, 1, 1, 32}, 8, 32)),
       "'b': expected at most 4 dimensions, got 5"},
      {tensor(gguf_tensor("b", {huge}, 8, 32)),
       "'b': expected extents below 2^62, got 18446744073709551615"},
      {tensor(gguf_tensor("b", {1u << 31, 1u << 31, 1u << 31}, 0, 32)),
       "'b': shape [2147483648, 2147483648, 2147483648] is too large"},
      {tensor(gguf_tensor("b", {31}, 8, 32)),
       "'b': rows of 31 elements are not whole blocks of 32 (Q8_0)"},
      {tensor(gguf_tensor("b", {256}, 16, 32)), "'b': unsupported type IQ2_XXS"},
      {tensor(gguf_tensor("b", {256}, 34, 32)), "'b': unsupported type TQ1_0"},
      {tensor(gguf_tensor("b", {32}, 39, 32)), "'b': unsupported type MXFP4"},
      {tensor(gguf_tensor("b", {32}, 4, 32)), "'b': unsupported type Q4_2"},
      {tensor(gguf_tensor("b", {32}, 99, 32)), "'b': unknown type 99 of ggml"},
      {tensor(gguf_tensor("b", {32}, 8, 33)),
       "'b': offset 33 is not a multiple of the alignment, 32"},
      {tensor(gguf_tensor("b", {32}, 8, 64)),
       "'b': 34 bytes at byte 64 exceed the 66 bytes of data (is the file truncated?)"},
      {tensor(gguf_tensor("b", {32}, 8, huge - 31)),
       "'b': 34 bytes at byte 18446744073709551584 exceed the 66 bytes of data"},
      {tensor(gguf_tensor("b", {32}, 8, 0)), "'a' and 'b' overlap: one ends at byte"},
  };
  bool all = true;
  for (const BadInput& c : cases) {
    const std::string e = parse_error(c.input);
    CAPTURE(e);
    CHECK(e.starts_with("m.gguf: " + c.message));
    all &= e.starts_with("m.gguf: " + c.message);
  }
  REQUIRE(held(153, all));
}

TEST_CASE("every truncation of a GGUF file is rejected") {
  const std::string bytes = small().str();
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    CAPTURE(n);
    CHECK(parse_error(bytes.substr(0, n)) != "");
  }
}
