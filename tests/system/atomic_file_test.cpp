// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/atomic_file.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "libsten/core/base/error.h"
#include "tests/support/child.h"
#include "tests/support/output_file.h"
#include "tests/support/temp_dir.h"

using namespace sten;
using namespace sten::testing;
using Names = std::vector<std::string>;

namespace {

// Runs a test body with temporary files without a name, where the file system has them, and with
// named ones.
struct BothWriters {
  template <class F>
  void operator()(F test) const {
    for (bool named : {false, true}) {
      CAPTURE(named);
      detail::named_temporaries_only = named;
      test();
    }
    detail::named_temporaries_only = false;
  }
};
constexpr BothWriters both_writers;

mode_t mode_of(const std::string& path) {
  struct stat s = {};
  stat(path.c_str(), &s);
  return s.st_mode & 07777;
}

void check_error(Fault fault, const std::string& text, const std::string& path,
                 bool force = false) {
  try {
    OutputFile out(path, force);
    FAIL("no error for " << path);
  } catch (const Error& e) {
    CHECK(e.what() == text);
    CHECK(e.fault() == fault);
  }
}

}  // namespace

TEST_CASE("a committed output has the bytes of all writes and leaves no temporary file") {
  both_writers([] {
    const TempDir dir;
    OutputFile out(dir / "out", false);
    out.write(as_bytes("cd"));
    out.write_at(4, as_bytes("ghi"));
    out.write_at(0, as_bytes("ab"));
    out.write(as_bytes("!"));
    CHECK(out.size() == 8);
    std::byte two[2];
    out.read_at(4, two);
    CHECK(as_text(two) == "gh");
    CHECK(!std::filesystem::exists(dir / "out"));
    out.commit();
    CHECK(dir.names() == Names{"out"});
    CHECK(dir.read("out") == std::string("ab\0\0ghi!", 8));
  });
}

TEST_CASE("large writes at unaligned offsets and in any order give the expected contents") {
  both_writers([] {
    const TempDir dir;
    constexpr std::size_t large = (std::size_t{2} << 20) + 4321;
    std::string text(3 * large, '\0');
    for (std::size_t i = 0; i < text.size(); ++i)
      text[i] = static_cast<char>(i * 2654435761u >> 24);
    for (const std::size_t header : {std::size_t{0}, std::size_t{8}, std::size_t{4096}}) {
      CAPTURE(header);
      const std::string path = dir / std::to_string(header);
      OutputFile out(path, false);
      const auto part = [&](std::size_t from, std::size_t n) {
        out.write_at(header + from, as_bytes(std::string_view(text).substr(from, n)));
      };
      part(0, large);
      part(2 * large, large);
      part(large, large);
      part(large - 5, 10);  // overwrites a part that was written past the page cache
      CHECK(out.size() == header + text.size());
      out.commit();
      CHECK((dir.read(std::to_string(header)) == std::string(header, '\0') + text));
    }
  });
}

TEST_CASE("an uncommitted output leaves no file behind and keeps the old file") {
  both_writers([] {
    const TempDir dir;
    { OutputFile(dir / "new", false).write(as_bytes("x")); }
    CHECK(dir.names().empty());
    dir.write("old", "old");
    { OutputFile(dir / "old", true).write(as_bytes("x")); }
    CHECK(dir.names() == Names{"old"});
    CHECK(dir.read("old") == "old");
  });
}

TEST_CASE("an existing file is rejected without force, and kept until the commit with force") {
  both_writers([] {
    const TempDir dir;
    const std::string path = dir.write("out", "old");
    check_error(Fault::usage, path + ": exists (use overwrite = true to overwrite)", path);
    OutputFile out(path, true);
    out.write(as_bytes("new"));
    CHECK(dir.read("out") == "old");
    out.commit();
    CHECK(dir.read("out") == "new");
    CHECK(dir.names() == Names{"out"});
  });
}

TEST_CASE("a file created by another process during writing is overwritten only with force") {
  both_writers([] {
    const TempDir dir;
    OutputFile out(dir / "out", false), forced(dir / "forced", true);
    out.write(as_bytes("ours"));
    forced.write(as_bytes("ours"));
    dir.write("out", "theirs");
    dir.write("forced", "theirs");
    CHECK_THROWS_WITH_AS(
        out.commit(),
        (dir / "out: created by another process meanwhile (use overwrite = true to overwrite)")
            .c_str(),
        Error);
    forced.commit();
    CHECK(dir.read("out") == "theirs");
    CHECK(dir.read("forced") == "ours");
  });
}

TEST_CASE("a rejected commit leaves no temporary file") {
  both_writers([] {
    const TempDir dir;
    {
      OutputFile out(dir / "out", false), forced(dir / "directory", true);
      dir.write("out", "theirs");
      std::filesystem::create_directory(dir / "directory");
      CHECK_THROWS_AS(out.commit(), Error);
      CHECK_THROWS_WITH_AS(forced.commit(), (dir / "directory: Is a directory").c_str(), Error);
    }
    CHECK(dir.names() == Names{"directory", "out"});
  });
}

TEST_CASE("a new file has the mode given by the umask, and a replaced file keeps its mode") {
  both_writers([] {
    const TempDir dir;
    const mode_t old = umask(027);
    write_output(dir / "new", "x");
    umask(0);
    write_output(dir / "open", "x");
    chmod(dir.write("private", "x").c_str(), 0600);
    write_output(dir / "private", "y", true);
    chmod(dir.write("shared", "x").c_str(), 0664);
    umask(077);
    write_output(dir / "shared", "y", true);
    umask(old);
    CHECK(mode_of(dir / "new") == 0640);
    CHECK(mode_of(dir / "open") == 0666);
    CHECK(mode_of(dir / "private") == 0600);
    CHECK(mode_of(dir / "shared") == 0664);
  });
}

TEST_CASE("writing to a symlink writes its target and keeps the link") {
  both_writers([] {
    const TempDir dir;
    std::filesystem::create_directory(dir / "sub");
    dir.write("sub/target", "old");
    std::filesystem::create_symlink("sub/target", dir / "link");
    std::filesystem::create_symlink("link", dir / "link2");
    check_error(Fault::usage, dir / "link2: exists (use overwrite = true to overwrite)",
                dir / "link2");
    write_output(dir / "link2", "new", true);
    CHECK(dir.read("sub/target") == "new");
    CHECK(std::filesystem::is_symlink(dir / "link"));
    CHECK(std::filesystem::is_symlink(dir / "link2"));

    std::filesystem::create_symlink("sub/fresh", dir / "dangling");
    write_output(dir / "dangling", "fresh");
    CHECK(dir.read("sub/fresh") == "fresh");
    CHECK(std::filesystem::is_symlink(dir / "dangling"));

    std::filesystem::create_symlink("loop", dir / "loop");
    check_error(Fault::input, dir / "loop: Too many levels of symbolic links", dir / "loop");
  });
}

TEST_CASE("file names of the maximum length of 255 bytes can be written") {
  both_writers([] {
    const TempDir dir;
    std::string name;  // 255 bytes, which would be cut within a character
    for (int i = 0; i < 127; ++i) name += "\xc3\xa9";
    name = "x" + name;
    write_output(dir / name, "a");
    write_output(dir / name, "b", true);
    CHECK(dir.names() == Names{name});
    CHECK(dir.read(name) == "b");
  });
}

TEST_CASE("invalid output paths are rejected when the output is opened") {
  both_writers([] {
    const TempDir dir;
    const std::string file = dir.write("file", "");
    check_error(Fault::input,
                dir / "none/out: directory '" + dir.path() + "/none': No such file or directory",
                dir / "none/out");
    check_error(Fault::input, file + "/out: Not a directory", file + "/out");
    check_error(Fault::input, dir.path() + ": is a directory", dir.path());
    check_error(Fault::input, dir / "new/: expected a file name, got a directory name",
                dir / "new/");
    check_error(Fault::usage, "empty output name", "");
  });
}

TEST_CASE("a read-only directory is rejected when the output is opened") {
  const TempDir dir;
  chmod(dir.path().c_str(), 0555);
  const ChildEnd end = run_in_child([&] {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(50);
    OutputFile(dir / "out", false);
  });
  CHECK(end.code == 99);
  CHECK(end.err == dir / "out: directory '" + dir.path() + "': Permission denied");
}

TEST_CASE("a write beyond the file size limit names the file and leaves nothing behind") {
  const TempDir dir;
  const ChildEnd end = run_in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit four_bytes{4, 4};
    setrlimit(RLIMIT_FSIZE, &four_bytes);
    write_output(dir / "out", "more than four bytes");
  });
  CHECK(end.err == dir / "out: File too large");
  CHECK(dir.names().empty());
}
