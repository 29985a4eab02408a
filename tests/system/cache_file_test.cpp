// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/cache_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "libsten/core/base/error.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"

using namespace sten;
using namespace sten::testing;

namespace fs = std::filesystem;

namespace {

std::string text_in(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Several levels below the directory of the test, so that a wrong path destroys nothing.
struct Place {
  TempDir top;
  std::string directory = top / "a/b/c/cache";
  std::string path = directory + "/times.json";
  CacheFile cache{path};

  void put(const std::string& text) const {
    fs::create_directories(directory);
    std::ofstream(path, std::ios::binary) << text;
  }
  // Neither read nor written, for the reason that both messages name.
  void check_refused(const std::string& reason) const {
    CHECK_MESSAGE(error_of([&] { (void)cache.read(); }).find(reason) != std::string::npos, reason);
    CHECK_MESSAGE(error_of([&] {
                    cache.write({{"x", 1}});
                  }).find(reason) != std::string::npos,
                  reason);
  }
};

}  // namespace

TEST_CASE("a cache file is created in a private directory and replaced as a whole") {
  const Place at;
  CHECK(!at.cache.read());
  at.cache.write({{"x", 1}});
  struct stat s = {};
  REQUIRE(stat(at.directory.c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0700);
  at.cache.write({{"x", 2}});
  CHECK(*at.cache.read() == nlohmann::ordered_json{{"sten_cache", 1}, {"x", 2}});
  at.put(R"({"schema": 1, "seconds": {}})");  // the format of versions before the key
  at.cache.write({{"x", 3}});
  CHECK(at.cache.read()->at("x") == 3);
}

TEST_CASE("a file that is not a sten cache is neither read nor overwritten") {
  const Place at;
  for (const char* text : {"", "{", "[]", "{}", R"({"sten_cache": 2})", R"({"seconds": {}})",
                           R"({"sten_cache": "1", "schema": 1, "seconds": {}})"}) {
    at.put(text);
    at.check_refused("without \"sten_cache\": 1");
    CHECK(text_in(at.path) == text);
  }
  at.put("{\"sten_cache\": 1" + std::string(CacheFile::most_bytes, ' ') + "}");
  at.check_refused("expected at most");
}

TEST_CASE("a cache path that is a symlink, a directory or a pipe is rejected") {
  const Place at;
  fs::create_directories(at.directory);
  const std::string target = at.top / "a/b/target.json", text = R"({"sten_cache": 1, "y": 1})";
  std::ofstream(target, std::ios::binary) << text;
  fs::create_symlink(target, at.path);
  at.check_refused("a symbolic link");
  CHECK(text_in(target) == text);
  fs::remove(target);  // the link dangles
  at.check_refused("a symbolic link");
  CHECK(!fs::exists(target));
  fs::remove(at.path);
  fs::create_directory(at.path);
  at.check_refused("a directory");
  fs::remove(at.path);
  REQUIRE(mkfifo(at.path.c_str(), 0600) == 0);
  at.check_refused("a pipe or device");
}

TEST_CASE("a cache that is writable by others or owned by another user is rejected") {
  const Place at;
  at.cache.write({{"x", 1}});
  const std::string before = text_in(at.path);
  REQUIRE(chmod(at.directory.c_str(), 01777) == 0);
  at.check_refused("expected a directory that others cannot write to, got mode 1777");
  REQUIRE(chmod(at.directory.c_str(), 0755) == 0);
  CHECK(at.cache.read());
  if (geteuid() == 0) {
    REQUIRE(chown(at.path.c_str(), 1, 1) == 0);
    at.check_refused("a file of user 1");
    REQUIRE(chown(at.directory.c_str(), 1, 1) == 0);
    at.check_refused("expected a directory of this user, got one of user 1");
  }
  CHECK(text_in(at.path) == before);
}
