// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/mmap.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "libsten/core/base/array.h"
#include "libsten/core/base/error.h"
#include "libsten/files/system/atomic_file.h"
#include "tests/support/bad_input.h"
#include "tests/support/child.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_dir.h"

using namespace sten;
using namespace sten::testing;

namespace {

std::size_t resident_bytes() {
  std::size_t all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t sum(std::span<const std::byte> bytes) {
  std::uint64_t s = 0;
  for (std::byte b : bytes) s += std::to_integer<std::uint64_t>(b);
  return s;
}

}  // namespace

TEST_CASE("a mapped file has the name and the bytes of its file") {
  const TempDir dir;
  const std::string path = dir.write("a", "hello");
  const MappedFile file = MappedFile::open(path);
  CHECK(as_text(file.bytes()) == "hello");
  CHECK(file.name() == path);
}

TEST_CASE("an empty file maps to no bytes") {
  const TempDir dir;
  const MappedFile file = MappedFile::open(dir.write("empty", ""));
  CHECK(file.bytes().empty());
  file.drop(0, 0);
}

TEST_CASE("MappedFile rejects missing and non-regular files with name and cause") {
  const TempDir dir;
  mkfifo((dir / "pipe").c_str(), 0600);
  CHECK_THROWS_WITH_AS(MappedFile::open(dir / "none"),
                       (dir / "none: No such file or directory").c_str(), Error);
  CHECK_THROWS_WITH_AS(MappedFile::open(dir.path()),
                       (dir.path() + ": expected one .safetensors file, got a directory").c_str(),
                       Error);
  CHECK_THROWS_WITH_AS(MappedFile::open("/dev/null"), "/dev/null: expected a regular file", Error);
  CHECK_THROWS_WITH_AS(MappedFile::open(dir / "pipe"),
                       (dir / "pipe: expected a regular file").c_str(), Error);
}

TEST_CASE("error messages escape control characters in file names") {
  CHECK_THROWS_WITH_AS(MappedFile::open("no\x1b[2J"), "no\\x1b[2J: No such file or directory",
                       Error);
}

TEST_CASE("a mapping stays valid while an owner holds it, even after its file is deleted") {
  const TempDir dir;
  Array<std::byte> bytes;
  {
    const MappedFile file = MappedFile::open(dir.write("a", "hello"));
    bytes = Array<std::byte>::borrow(file.owner(), file.bytes().data(), file.bytes().size());
  }
  unlink((dir / "a").c_str());
  CHECK(as_text(bytes) == "hello");
}

TEST_CASE("an adopted file descriptor is mapped from offset 0 and closed with the mapping") {
  const TempDir dir;
  const int fd = open(dir.write("a", "hello").c_str(), O_RDONLY);
  lseek(fd, 3, SEEK_SET);
  {
    const MappedFile file = MappedFile::adopt_fd(fd, "spooled");
    CHECK(as_text(file.bytes()) == "hello");
    CHECK(file.name() == "spooled");
  }
  CHECK(fcntl(fd, F_GETFD) == -1);
}

TEST_CASE("dropped pages release their memory and can be read again") {
  const TempDir dir;
  constexpr std::size_t size = std::size_t{16} << 20;
  const MappedFile file = MappedFile::open(dir.write("big", std::string(size, '\x01')));
  CHECK(sum(file.bytes()) == size);
  const std::size_t before = resident_bytes();
  file.drop(0, size);
  CHECK(resident_bytes() + size / 2 < before);
  CHECK(sum(file.bytes()) == size);
}

TEST_CASE("dropping empty, partial and out-of-range page ranges keeps the contents readable") {
  const TempDir dir;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const MappedFile file = MappedFile::open(dir.write("a", std::string(2 * page, 'x')));
  // An empty range must not reach madvise, which takes it for an error or for the whole file.
  file.drop(1, page);
  file.drop(page + 1, page + 2);
  file.drop(2 * page, 2 * page);
  file.drop(5 * page, 4 * page);
  CHECK(sum(file.bytes()) == 2 * page * 'x');
}

TEST_CASE("hard links share device and inode numbers, and different files have different inodes") {
  const TempDir dir;
  const MappedFile a = MappedFile::open(dir.write("a", "x")),
                   b = MappedFile::open(dir.write("b", "x"));
  REQUIRE(link((dir / "a").c_str(), (dir / "hard").c_str()) == 0);
  const MappedFile hard = MappedFile::open(dir / "hard");
  CHECK((a.device() == hard.device() && a.inode() == hard.inode()));
  CHECK(a.inode() != b.inode());
}

TEST_CASE("check_unchanged detects that a mapped file was truncated") {
  const TempDir dir;
  const MappedFile file = MappedFile::open(dir.write("a", "hello"));
  CHECK_NOTHROW(file.check_unchanged());
  REQUIRE(truncate(file.name().c_str(), 2) == 0);
  CHECK_THROWS_WITH_AS(file.check_unchanged(), (dir / "a: the file changed during the run").c_str(),
                       Error);
}

TEST_CASE("truncating a mapped file ends the program with an error message, not a signal") {
  const TempDir dir;
  const std::string path = dir.write("shrinks", std::string(1 << 20, 'x'));
  const TempDir out;
  const ChildEnd end = run_in_child([&] {
    install_fault_handler("sten-test");
    detail::named_temporaries_only = true;
    OutputFile unfinished(out / "o", false);
    const MappedFile other = MappedFile::open(dir.write("other", "y"));
    const MappedFile file = MappedFile::open(path);
    if (truncate(path.c_str(), 100) != 0) _exit(50);
    _exit(sum(file.bytes()) == 0 ? 51 : 52);
  });
  CHECK(held(13, end.code == 1));
  CHECK(end.err == "sten-test: " + path + ": the file shrank during the run\n");
  CHECK(out.names().empty());
}

TEST_CASE("only one of several threads reports a truncated mapped file") {
  const TempDir dir;
  const std::string path = dir.write("shrinks", std::string(1 << 20, 'x'));
  for (int i = 0; i < 20; ++i) {
    std::filesystem::resize_file(path, 1 << 20);
    const ChildEnd end = run_in_child([&] {
      install_fault_handler("sten-test");
      const MappedFile file = MappedFile::open(path);
      if (truncate(path.c_str(), 100) != 0) _exit(50);
      std::vector<std::thread> threads;
      std::atomic<int> ready = 0;
      std::atomic<std::uint64_t> total = 0;
      for (int t = 0; t < 8; ++t)
        threads.emplace_back([&] {
          for (++ready; ready < 8;) {
          }
          total += sum(file.bytes());
        });
      for (std::thread& t : threads) t.join();
    });
    CHECK(end.code == 1);
    CHECK(end.err == "sten-test: " + path + ": the file shrank during the run\n");
  }
}

TEST_CASE("a bus error outside of mapped files keeps the default signal action") {
  const TempDir dir;
  const std::string path = dir.write("a", std::string(1 << 20, 'x'));
  const ChildEnd elsewhere = run_in_child([&] {
    install_fault_handler("sten-test");
    const int fd = open(path.c_str(), O_RDONLY);
    void* map = mmap(nullptr, 1 << 20, PROT_READ, MAP_PRIVATE, fd, 0);
    if (truncate(path.c_str(), 0) != 0) _exit(50);
    _exit(static_cast<volatile char*>(map)[5000]);
  });
  CHECK(elsewhere.signal == SIGBUS);
  const ChildEnd sent = run_in_child([&] {
    install_fault_handler("sten-test");
    raise(SIGBUS);
  });
  CHECK(sent.signal == SIGBUS);
}

TEST_CASE("writing from a truncated mapped file is an error, not a bus error") {
  const TempDir dir;
  const MappedFile file = MappedFile::open(dir.write("in", std::string(1 << 20, 'x')));
  OutputFile out(dir / "out", false);
  REQUIRE(truncate(file.name().c_str(), 0) == 0);
  CHECK_THROWS_WITH_AS(out.write(file.bytes()),
                       (dir / "out: the input shrank during the run").c_str(), Error);
}
