// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/checksum_manifest.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "tests/support/temp_dir.h"

using namespace sten;

namespace {

template <class F>
std::string error(F&& f) {
  try {
    f();
    return "";
  } catch (const Error& e) {
    CHECK(e.fault() == Fault::input);
    return e.what();
  }
}

}  // namespace

TEST_CASE("a checksum manifest round-trips, and a change of any byte is rejected") {
  const TempDir dir;
  nlohmann::ordered_json j;
  j["step"] = 3;
  j["loss"] = 0.1;
  j["list"] = {"a", 1e300, -0.0, nullptr};
  const std::string text = manifest_text(j);
  CHECK(read_manifest(dir.write("r.json", text)) == j);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == '5' ? '6' : '5';
    CAPTURE(i);
    CHECK_FALSE(error([&] { read_manifest(dir.write("r.json", changed)); }).empty());
  }
  for (const char* other : {"", "[]", "3", "{}", R"({"checksum": 3})", "{\"a\": 1"})
    CHECK_FALSE(error([&] { read_manifest(dir.write("r.json", other)); }).empty());
  CHECK_FALSE(error([&] { read_manifest(dir / "none"); }).empty());
}

TEST_CASE("check_files names missing, changed and unexpected files") {
  const TempDir dir;
  std::filesystem::create_directories(dir / "d/below");
  dir.write("d/a", "text");
  dir.write("d/empty", "");
  dir.write("d/below/b", "more");
  const auto list = list_files(dir / "d");
  CHECK(list.size() == 3);
  const auto check = [&] {
    return error([&] { check_files(dir / "d", JsonReader(list, "list"), "record"); });
  };
  CHECK(check().empty());
  dir.write("d/record", "passed over");
  CHECK(check().empty());
  dir.write("d/a", "Text");
  CHECK(check() == dir / "d/a: changed since the file was written");
  dir.write("d/a", "text");
  std::filesystem::remove(dir / "d/below/b");
  CHECK(check() == dir / "d/below/b: is missing");
  dir.write("d/below/b", "more");
  dir.write("d/below/c", "more");
  CHECK(check() == dir / "d/below/c: file not written by the run");
}
