// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/tensors/safetensors_writer.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "libsten/core/base/error.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_dir.h"

using namespace sten;

namespace {

constexpr const char* text_of_two =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[],"data_offsets":[3,7]},)"
    R"("b":{"dtype":"U8","shape":[3,1],"data_offsets":[0,3]}})";

// A file of two tensors whose header and data have different orders.
std::string write_two(const TempDir& dir, std::uint64_t header_bytes) {
  const std::string name = std::to_string(header_bytes);
  OutputFile out(dir / name, false);
  SafetensorsWriter writer(out, header_bytes);
  writer.add("b", DType::U8, {3, 1}, as_bytes("bbb"));
  writer.add("a", DType::F32, {}, as_bytes("aaaa"));
  writer.finish({{"format", "pt"}}, {"a", "b"});
  out.commit();
  return dir.read(name);
}

}  // namespace

TEST_CASE("header text is compact JSON with metadata first and entries in the given order") {
  CHECK(safetensors_header_text({{"format", "pt"}},
                                {{"a", DType::F32, {}, 3, 7}, {"b", DType::U8, {3, 1}, 0, 3}}) ==
        text_of_two);
  CHECK(safetensors_header_text({}, {}) == "{}");
  CHECK(safetensors_header_text({{"a", "1"}, {"b", ""}}, {}) ==
        R"({"__metadata__":{"a":"1","b":""}})");
  CHECK(
      safetensors_header_text({{"q\"\\\n", "é"}}, {{"重\"み", DType::F4, {2}, 0, 1}}) ==
      R"({"__metadata__":{"q\"\\\n":"é"},"重\"み":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}})");
  CHECK_THROWS_WITH_AS(safetensors_header_text({}, {{"a\xff", DType::U8, {0}, 0, 0}}),
                       "'a\\xff' is not UTF-8", Error);
}

TEST_CASE("the header is padded with blanks to its reserved size and to 8-byte alignment") {
  const TempDir dir;
  const std::string text = text_of_two;
  REQUIRE(text.size() == 138);
  CHECK(write_two(dir, 138) == with_length(144, text + std::string(6, ' ')) + "bbbaaaa");
  CHECK(write_two(dir, 144) == write_two(dir, 139));
  CHECK(write_two(dir, 201) == with_length(208, text + std::string(70, ' ')) + "bbbaaaa");
}

TEST_CASE("a header larger than its reserved size moves the data and gives the same file") {
  const TempDir dir;
  const std::string right = write_two(dir, 138);
  for (std::uint64_t room : {0, 1, 8, 80, 136}) CHECK(write_two(dir, room) == right);
}

TEST_CASE("moving megabytes of data behind a larger header preserves the data") {
  const TempDir dir;
  std::string data(5'000'003, '\0');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * i >> 7);
  OutputFile out(dir / "out", false);
  SafetensorsWriter writer(out, 8);
  writer.add("w", DType::U8, {5'000'003}, as_bytes(data));
  writer.finish({}, {"w"});
  out.commit();
  const std::string file = dir.read("out");
  const SafetensorsHeader h = parse_safetensors(as_bytes(file), "out");
  CHECK(h.data_offset % 8 == 0);
  CHECK(file.substr(h.data_offset) == data);
}

TEST_CASE("safetensors round trip preserves names, shapes, data and metadata") {
  const TempDir dir;
  OutputFile out(dir / "out", false);
  SafetensorsWriter writer(out, 1000);
  writer.add("empty", DType::I64, {3, 0}, {});
  writer.add("x\"y", DType::BF16, {2, 2}, as_bytes("12345678"));
  writer.add("scalar", DType::F64, {}, as_bytes("abcdefgh"));
  const std::vector<std::pair<std::string, std::string>> metadata = {{"z", "1"}, {"a", "é\n"}};
  writer.finish(metadata, {"scalar", "x\"y", "empty"});
  out.commit();
  const std::string file = dir.read("out");
  const SafetensorsHeader h = parse_safetensors(as_bytes(file), "out");
  CHECK(h.metadata == metadata);
  REQUIRE(h.entries.size() == 3);
  CHECK(h.entries[0].name == "scalar");
  CHECK(file.substr(h.data_offset + h.entries[0].begin, 8) == "abcdefgh");
  CHECK(h.entries[1].name == "x\"y");
  CHECK(h.entries[1].shape == Shape{2, 2});
  CHECK(file.substr(h.data_offset + h.entries[1].begin, 8) == "12345678");
  CHECK(h.entries[2].name == "empty");
  CHECK(h.entries[2].begin == h.entries[2].end);
}

TEST_CASE("a file without tensors has an empty padded header") {
  const TempDir dir;
  OutputFile out(dir / "out", false);
  SafetensorsWriter(out, 0).finish({}, {});
  out.commit();
  CHECK(dir.read("out") == safetensors_bytes("{}      "));
}

TEST_CASE("the writer rejects duplicate tensor names") {
  const TempDir dir;
  OutputFile out(dir / "out", false);
  SafetensorsWriter writer(out, 100);
  writer.add("w::values", DType::U8, {1}, as_bytes("x"));
  writer.add("w::values", DType::U8, {1}, as_bytes("y"));
  CHECK_THROWS_WITH_AS(writer.finish({}, {"w::values", "w::values"}),
                       (dir / "out: duplicate tensor name 'w::values'").c_str(), Error);
}

TEST_CASE("maximum offsets add 38 digits to a header entry") {
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  CHECK(safetensors_header_text({}, {{"a", DType::F32, {7}, most, most}}).size() ==
        safetensors_header_text({}, {{"a", DType::F32, {7}, 0, 0}}).size() + 38);
}
