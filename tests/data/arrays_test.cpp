// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/arrays.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/data/examples.h"
#include "libsten/data/idx.h"
#include "libsten/files/tensors/npy.h"
#include "tests/support/bad_input.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;
using namespace std::string_literals;

namespace {

Dense idx(const std::string& file) { return parse_idx(as_bytes(file), "in.idx"); }
std::string idx_error(const std::string& file) {
  return error_in("in.idx", [&] { idx(file); });
}

// Two images of 2 x 2 and their labels.
const std::string image_file = "\0\0\x08\3\0\0\0\2\0\0\0\2\0\0\0\2\0\1\2\3\4\5\6\xff"s;
const std::string label_file = "\0\0\x08\1\0\0\0\2\7\0"s;

}  // namespace

TEST_CASE("idx files of every type are read") {
  const Dense u8 = idx(image_file);
  CHECK(u8.extents == Shape{2, 2, 2});
  CHECK(u8.values.as<std::uint8_t>()[7] == 255);
  CHECK(idx("\0\0\x09\1\0\0\0\1\xff"s).values.as<std::int8_t>()[0] == -1);
  CHECK(idx("\0\0\x0b\1\0\0\0\1\1\2"s).values.as<std::int16_t>()[0] == 258);
  CHECK(idx("\0\0\x0c\1\0\0\0\1\xff\xff\xff\xfe"s).values.as<std::int32_t>()[0] == -2);
  CHECK(idx("\0\0\x0d\1\0\0\0\1\x3f\xc0\0\0"s).values.as<float>()[0] == 1.5f);
  CHECK(idx("\0\0\x0e\1\0\0\0\1\xbf\xf8\0\0\0\0\0\0"s).values.as<double>()[0] == -1.5);
  CHECK(idx("\0\0\x08\0\5"s).extents == Shape{});
  CHECK(idx("\0\0\x08\2\0\0\0\0\0\0\0\3"s).size() == 0);
}

TEST_CASE("malformed, truncated and overlong idx files are rejected") {
  const struct {
    std::string file, message;
  } cases[] = {
      {"\0\0\x08"s, "3 bytes are too few for an idx file"},
      {"\1\0\x08\1"s, "not an idx file: expected the first bytes 00 00, got 01 00"},
      {"\x1f\x8b\x08\0"s, "expected an idx file, got gzip-compressed data"},
      {"\0\0\x0a\1\0\0\0\0"s, "unknown idx type 0x0a"},
      {"\0\0\x08\x21\0\0\0\0"s, "33 axes are more than 32"},
      {"\0\0\x08\2\0\0\0\2\0\0"s, "truncated: 10 bytes are too few for the extents of 2 axes"},
      {label_file.substr(0, 9), "truncated: shape [2] of U8 needs 2 bytes, got 1"},
  };
  for (const auto& c : cases) CHECK(idx_error(c.file) == c.message);
  CHECK(held(68,
             idx_error(label_file + "x") == "1 extra bytes after the 2 bytes of shape [2] of U8"));
}

TEST_CASE("a small idx file that claims gigabytes of data is rejected") {
  CHECK(idx_error("\0\0\x0e\2\0\1\0\0\0\1\0\0x"s) ==
        "truncated: shape [65536, 65536] of F64 needs 34359738368 bytes, got 1");
  CHECK(has(idx_error("\0\0\x08\3\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0"s),
            "[4294967295, 4294967295, 0]"));
}

TEST_CASE("idx features can be combined with idx or .npy labels") {
  const TempDir dir;
  const std::string npy = npy_header(DType::I32, {2}) + "\7\0\0\0\0\0\0\0"s;
  for (const std::string& y : {label_file, npy}) {
    const Examples e = make_examples(read_array(dir.write("x", image_file)),
                                     read_array(dir.write("y", y)), "x", "y");
    CHECK(e.features.dtype() == DType::U8);
    CHECK(e.features.extents == Shape{2, 2, 2});
    CHECK(e.labels.values.as<std::int64_t>()[0] == 7);
    CHECK(e.classes() == 8);
  }
}

TEST_CASE("a Fortran-order .npy file is read into row-major order") {
  const TempDir dir;
  std::string header = npy_header(DType::U8, {2, 3});
  header.replace(header.find("False"), 5, "True ");
  const Dense x = read_array(dir.write("x.npy", header + "\1\4\2\5\3\6"));
  CHECK(x.extents == Shape{2, 3});
  for (int i = 0; i < 6; ++i) CHECK(x.values.as<std::uint8_t>()[i] == i + 1);
}

TEST_CASE("damaged and unsupported array files are rejected with the file name") {
  const TempDir dir;
  const auto refused = [&](const std::string& content) {
    const std::string message = error_of([&] { read_array(dir.write("x", content)); });
    CHECK(message.starts_with(dir / "x" + ": "));
    return message.substr(std::min(message.size(), (dir / "x").size() + 2));
  };
  CHECK(refused("") == "the file is empty");
  CHECK(refused("abcd") == "expected a .npy or idx file (an idx file starts with 00 00)");
  CHECK(refused("\x1f\x8b\x08\0"s) == "expected a .npy or idx file, got gzip-compressed data");
  CHECK(refused(npy_header(DType::F32, {1000, 1000, 1000, 1000}) + "1234") ==
        "shape [1000, 1000, 1000, 1000] of F32 needs 4000000000000 bytes, the file has 4 "
        "(is the file truncated?)");
  std::string header = npy_header(DType::F32, {1}) + "1234";
  header[header.find('<')] = '>';
  CHECK(refused(header) == "dtype '>f4' is big-endian (save x.astype('<f4'), little-endian)");
}
