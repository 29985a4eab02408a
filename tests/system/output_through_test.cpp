// SPDX-License-Identifier: Apache-2.0
// Outputs that are not files, and outputs that are inputs.
#include "libsten/files/system/atomic_file.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "libsten/core/base/error.h"
#include "tests/support/child.h"
#include "tests/support/output_file.h"
#include "tests/support/temp_dir.h"

using namespace sten;
using namespace sten::testing;

TEST_CASE("devices and pipes are written directly and not replaced by files") {
  write_output("/dev/null", "x");
  CHECK(std::filesystem::is_character_file("/dev/null"));
  OutputFile full("/dev/full", false);
  full.write(as_bytes("x"));
  CHECK_THROWS_WITH_AS(full.commit(), "/dev/full: No space left on device", Error);

  const TempDir dir;
  REQUIRE(mkfifo((dir / "fifo").c_str(), 0600) == 0);
  const Fd reader(open((dir / "fifo").c_str(), O_RDONLY | O_NONBLOCK));
  write_output(dir / "fifo", "hello");
  std::byte buffer[10];
  std::size_t n = 0;
  CHECK(read_some(reader.get(), buffer, n) == 0);
  CHECK(as_text(std::span(buffer).first(n)) == "hello");
  CHECK(std::filesystem::is_fifo(dir / "fifo"));
}

TEST_CASE("standard output is written at the commit, and not at all without a commit") {
  for (const char* name : {"-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
    CAPTURE(name);
    const TempDir dir;
    const std::string path = dir.write("redirected", "");
    const ChildEnd end = run_in_child([&] {
      dup2(open(path.c_str(), O_WRONLY), STDOUT_FILENO);
      {
        OutputFile dropped(name, false);
        dropped.write(as_bytes("dropped"));
      }
      OutputFile out(name, false);
      out.write_at(2, as_bytes("cd"));
      out.write_at(0, as_bytes("ab"));
      if (!std::filesystem::is_empty(path)) _exit(50);
      out.commit();
    });
    CHECK(end.code == 0);
    CHECK(dir.read("redirected") == "abcd");
  }
}

TEST_CASE("binary output to a terminal or to a closed or read-only standard output is rejected") {
  const ChildEnd terminal = run_in_child([] {
    const int controller = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(controller);
    unlockpt(controller);
    dup2(open(ptsname(controller), O_RDWR | O_NOCTTY), STDOUT_FILENO);
    OutputFile("-", true);
  });
  CHECK(terminal.err == "standard output: binary output cannot be written to a terminal");
  const ChildEnd closed = run_in_child([] {
    close(STDOUT_FILENO);
    OutputFile("-", false);
  });
  CHECK(closed.err == "standard output: Bad file descriptor");
  const ChildEnd readable = run_in_child([] {
    dup2(open("/dev/null", O_RDONLY), STDOUT_FILENO);
    OutputFile("-", false);
  });
  CHECK(readable.err == "standard output: not open for writing");
}

TEST_CASE("an output that is the input, by path or link, is rejected") {
  const TempDir dir;
  const std::string in = dir.write("in", "old");
  std::filesystem::create_hard_link(in, dir / "hard");
  std::filesystem::create_symlink("in", dir / "soft");
  dir.write("other", "old");
  const MappedFile file = MappedFile::open(in);
  for (const char* name : {"in", "./in", "hard", "soft"}) {
    const std::string path = dir / name;
    CHECK_THROWS_WITH_AS(refuse_same_file(path, file),
                         (path + ": the output is the input, and inputs are never written").c_str(),
                         Error);
  }
  CHECK_NOTHROW(refuse_same_file(dir / "other", file));
  CHECK_NOTHROW(refuse_same_file(dir / "none", file));
  CHECK_NOTHROW(refuse_same_file("-", file));
  write_output(in, "new", true);
  CHECK(as_text(file.bytes()) == "old");
  CHECK(dir.read("hard") == "old");
  CHECK(dir.read("soft") == "new");
}

TEST_CASE("standard output redirected into the input is rejected") {
  const TempDir dir;
  const std::string in = dir.write("in", "old");
  const ChildEnd end = run_in_child([&] {
    dup2(open(in.c_str(), O_WRONLY | O_APPEND), STDOUT_FILENO);
    refuse_same_file("-", MappedFile::open(in));
  });
  CHECK(end.err == "standard output: the output is the input, and inputs are never written");
}
