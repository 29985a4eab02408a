// SPDX-License-Identifier: Apache-2.0
#include "libsten/data/image/cifar.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/bad_input.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace {

// A record whose byte at (y, x) of colour c is seed + 7 y + 3 x + 80 c.
std::string cifar_record(const std::string& labels, int seed) {
  std::string r = labels;
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < 32; ++y)
      for (int x = 0; x < 32; ++x) r += static_cast<char>(seed + 7 * y + 3 * x + 80 * c);
  return r;
}
Examples cifar_in(const std::string& file, Index classes) {
  return parse_cifar(std::as_bytes(std::span(file)), "in.bin", classes);
}
std::string not_cifar(const std::string& file, Index classes) {
  const std::string message = error_of([&] { cifar_in(file, classes); });
  if (message.empty()) return "";
  CHECK(message.starts_with("in.bin: "));
  return message.substr(8);
}

}  // namespace

TEST_CASE("CIFAR-10 color planes are read as interleaved pixels with their labels") {
  const Examples e = cifar_in(cifar_record("\x09", 1) + cifar_record("\x03", 50), 10);
  CHECK(e.features.dtype() == DType::U8);
  CHECK(e.features.extents == Shape{2, 32, 32, 3});
  CHECK(e.labels.values.as<std::int64_t>()[0] == 9);
  CHECK(e.labels.values.as<std::int64_t>()[1] == 3);
  const auto v = e.features.values.as<std::uint8_t>();
  const int seeds[]{1, 50};
  for (int i = 0; i < 2; ++i)
    for (int y : {0, 1, 31})
      for (int x : {0, 1, 31})
        for (int c = 0; c < 3; ++c)
          CHECK(v[((i * 32 + y) * 32 + x) * 3 + c] ==
                static_cast<std::uint8_t>(seeds[i] + 7 * y + 3 * x + 80 * c));
}

TEST_CASE("CIFAR-100 is read with its 100 fine or its 20 coarse labels") {
  const std::string file = cifar_record("\x13\x63", 1);
  CHECK(cifar_in(file, 100).labels.values.as<std::int64_t>()[0] == 99);
  CHECK(cifar_in(file, 20).labels.values.as<std::int64_t>()[0] == 19);
  CHECK(cifar_in(file, 20).features.values.as<std::uint8_t>()[1] == 81);
}

TEST_CASE("several CIFAR files are concatenated in the given order") {
  const TempDir dir;
  const std::string one = dir.write("1", cifar_record("\x01", 1)),
                    two = dir.write("2", cifar_record("\x02", 2) + cifar_record("\x03", 3));
  const Examples e = read_cifar({two, one}, 10);
  CHECK(e.features.extents == Shape{3, 32, 32, 3});
  CHECK(e.labels.values.as<std::int64_t>()[2] == 1);
  CHECK(e.features.values.as<std::uint8_t>()[2 * 3072] == 1);
}

TEST_CASE("CIFAR files of the wrong size or with out-of-range labels are rejected") {
  const std::string record = cifar_record("\x01", 1);
  CHECK(held(113, not_cifar(record.substr(1), 10) ==
                      "expected a multiple of 3073 bytes, the record size of CIFAR-10, got 3072 "
                      "bytes (is the file truncated?)"));
  CHECK(not_cifar(record + "x", 100).empty());
  CHECK(not_cifar(record + "x", 10) ==
        "expected a multiple of 3073 bytes, the record size of CIFAR-10, got 3074 bytes (is the "
        "file CIFAR-100?)");
  CHECK(not_cifar(record, 100) ==
        "expected a multiple of 3074 bytes, the record size of CIFAR-100, got 3073 bytes (is the "
        "file CIFAR-10?)");
  CHECK(has(not_cifar("", 10), "got 0 bytes"));
  CHECK(not_cifar("\x1f\x8b\x08", 10) ==
        "got gzip-compressed data, expected a binary file of CIFAR-10");
  CHECK(held(113, not_cifar(record + cifar_record("\x0a", 1), 10) ==
                      "record 1: label 10 is out of range: CIFAR-10 has 10 classes"));
  CHECK(not_cifar(cifar_record("\x14\x01", 1), 20) ==
        "record 0: label 20 is out of range: CIFAR-100 has 20 classes");
  CHECK(not_cifar(cifar_record("\x01\x64", 1), 100) ==
        "record 0: label 100 is out of range: CIFAR-100 has 100 classes");
  CHECK(error_of([&] { cifar_in(record, 11); }) ==
        "cifar: classes must be 10, 100 or 20 (coarse), got 11");
}

TEST_CASE("CIFAR training and test files are found in a directory by name") {
  const TempDir dir;
  const auto error = [&](Index classes) {
    return error_of([&] { cifar_files(dir.path(), classes); });
  };
  CHECK(error(10) ==
        dir.path() + ": data_batch_1.bin not found (expected the binary files of CIFAR-10)");
  for (const char* name : {"data_batch_10.bin", "data_batch_2.bin", "readme.html", "train.bin"})
    dir.write(name, "x");
  CHECK(error(10) ==
        dir.path() + ": test_batch.bin not found (expected the binary files of CIFAR-10)");
  CHECK(error(100) == dir.path() + ": test.bin not found (expected the binary files of CIFAR-100)");
  dir.write("test_batch.bin", "x");
  const CifarFiles found = cifar_files(dir.path(), 10);
  CHECK(found.train == std::vector{dir / "data_batch_2.bin", dir / "data_batch_10.bin"});
  CHECK(found.test == std::vector{dir / "test_batch.bin"});
  CHECK(has(error_of([&] { cifar_files(dir / "none", 10); }), "none: No such file or directory"));
}
