// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/spool.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "libsten/core/base/error.h"
#include "libsten/files/system/fd.h"
#include "tests/support/child.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_dir.h"

using namespace sten;

namespace {

// More than a pipe holds.
const std::string long_text(300'000, 'z');

// A pipe that a thread fills with long_text.
struct FilledPipe {
  FilledPipe() {
    if (pipe(ends) != 0) throw std::runtime_error("pipe");
    writer = std::thread([this] {
      write_all(ends[1], as_bytes(long_text));
      close(ends[1]);
    });
  }
  ~FilledPipe() {
    writer.join();
    close(ends[0]);
  }
  int ends[2];
  std::thread writer;
};

// A terminal to read from and write to.
int open_terminal() {
  const int controller = posix_openpt(O_RDWR | O_NOCTTY);
  if (controller < 0 || grantpt(controller) != 0 || unlockpt(controller) != 0) return -1;
  return open(ptsname(controller), O_RDWR | O_NOCTTY);
}

}  // namespace

TEST_CASE("spool reads a whole pipe and leaves no temporary file behind") {
  const TempDir dir;
  setenv("TMPDIR", dir.path().c_str(), 1);
  {
    FilledPipe pipe;
    const MappedFile file = spool(pipe.ends[0], "standard input");
    CHECK(as_text(file.bytes()) == long_text);
    CHECK(file.name() == "standard input");
    CHECK(dir.names().empty());
  }
  unsetenv("TMPDIR");
}

TEST_CASE("spooling an empty pipe gives an empty input") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  close(ends[1]);
  CHECK(spool(ends[0], "x").bytes().empty());
  close(ends[0]);
}

TEST_CASE("spool waits for the data of a non-blocking pipe") {
  int ends[2];
  REQUIRE(pipe2(ends, O_NONBLOCK) == 0);
  std::thread writer([&] {
    usleep(20'000);
    write_all(ends[1], as_bytes(long_text));
    close(ends[1]);
  });
  CHECK(spool(ends[0], "x").bytes().size() == long_text.size());
  writer.join();
  close(ends[0]);
}

TEST_CASE("spool errors name a missing or full temporary directory") {
  const ChildEnd missing = run_in_child([] {
    int ends[2];
    if (pipe(ends) != 0) _exit(50);
    write_all(ends[1], as_bytes("some text"));
    close(ends[1]);
    setenv("TMPDIR", "/nowhere", 1);
    spool(ends[0], "in");
  });
  CHECK(missing.code == 99);
  CHECK(missing.err ==
        "in: no temporary file in /nowhere: No such file or directory "
        "(set TMPDIR to another directory)");

  const ChildEnd full = run_in_child([] {
    int ends[2];
    if (pipe(ends) != 0) _exit(50);
    write_all(ends[1], as_bytes("some text"));
    close(ends[1]);
    signal(SIGXFSZ, SIG_IGN);
    const rlimit four_bytes{4, 4};
    setrlimit(RLIMIT_FSIZE, &four_bytes);
    setenv("TMPDIR", "/tmp", 1);
    spool(ends[0], "in");
  });
  CHECK(full.code == 99);
  CHECK(full.err == "in: temporary copy in /tmp: File too large (set TMPDIR to another directory)");
}

TEST_CASE("the input name - reads standard input and rejects a directory or a terminal") {
  const TempDir dir;
  dir.write("a", "hello");
  const auto with_stdin = [](int fd, const std::string& expected) {
    return run_in_child([&] {
      dup2(fd, STDIN_FILENO);
      close_range(3, ~0u, 0);  // including the pipe's other end, which would keep it open
      const MappedFile file = open_input("-");
      if (as_text(file.bytes()) != expected || file.name() != "standard input") _exit(50);
    });
  };
  {
    FilledPipe pipe;
    CHECK(with_stdin(pipe.ends[0], long_text).code == 0);
  }
  const int fd = open((dir / "a").c_str(), O_RDONLY);
  CHECK(with_stdin(fd, "hello").code == 0);
  lseek(fd, 2, SEEK_SET);
  CHECK(with_stdin(fd, "llo").code == 0);
  close(fd);

  const int here = open(dir.path().c_str(), O_RDONLY);
  CHECK(with_stdin(here, "").err == "standard input: is a directory");
  close(here);

  const int terminal = open_terminal();
  REQUIRE(terminal >= 0);
  CHECK(with_stdin(terminal, "").err ==
        "standard input: expected a file or a pipe, got a terminal");
  close(terminal);

  CHECK(run_in_child([] {
          close(STDIN_FILENO);
          open_input("-");
        }).err == "standard input: Bad file descriptor");
}

TEST_CASE("a file on standard input is mapped without a copy") {
  const TempDir dir;
  const std::string path = dir.write("a", "hello");
  CHECK(run_in_child([&] {
          dup2(open(path.c_str(), O_RDONLY), STDIN_FILENO);
          if (open_input("-").inode() != MappedFile::open(path).inode()) _exit(50);
        }).code == 0);
}

TEST_CASE("named pipes and /dev/fd pipes and sockets are spooled") {
  const TempDir dir;
  const std::string path = dir / "fifo";
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  std::thread writer([&] {
    const Fd fd(open(path.c_str(), O_WRONLY));
    write_all(fd.get(), as_bytes(long_text));
  });
  CHECK(as_text(open_input(path).bytes()) == long_text);
  writer.join();
  {
    FilledPipe pipe;
    const std::string name = "/dev/fd/" + std::to_string(pipe.ends[0]);
    const MappedFile file = open_input(name);
    CHECK(as_text(file.bytes()) == long_text);
    CHECK(file.name() == name);
  }
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  write_all(ends[1], as_bytes("hello"));
  close(ends[1]);
  CHECK(as_text(open_input("/dev/fd/" + std::to_string(ends[0])).bytes()) == "hello");
  close(ends[0]);
}

TEST_CASE("a missing file, a device, a directory and an empty name are rejected as inputs") {
  const TempDir dir;
  CHECK_THROWS_WITH_AS(open_input(dir / "none"), (dir / "none: No such file or directory").c_str(),
                       Error);
  CHECK_THROWS_WITH_AS(open_input("/dev/null"),
                       "/dev/null: expected a file or a pipe, got a device", Error);
  CHECK_THROWS_WITH_AS(open_input(dir.path()),
                       (dir.path() + ": expected one .safetensors file, got a directory").c_str(),
                       Error);
  CHECK_THROWS_WITH_AS(open_input(""), "empty input name", Error);
}
