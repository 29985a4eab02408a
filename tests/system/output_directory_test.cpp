// SPDX-License-Identifier: Apache-2.0
// Replacement of output directories: allowed, refused, and interrupted at any moment.
#include "libsten/files/system/output_directory.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/files/system/output_manifest.h"
#include "tests/support/bad_input.h"
#include "tests/support/child.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_dir.h"
#include "tests/support/tensors.h"
#include "tests/support/warnings.h"

using namespace sten;
using namespace sten::testing;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

void put(const OutputDirectory& out, const std::string& name, const std::string& text) {
  const auto file = out.new_file(name);
  file->write(as_bytes(text));
  file->commit();
}

// Makes a result with a file that identifies it.
void make(const std::string& path, const std::string& text, bool force = false) {
  OutputDirectory out(path, force);
  put(out, "model", text);
  out.make_directory("inner", 0755);
  put(out, "inner/file", "x");
  out.write_manifest();
  out.commit();
}

std::string directory_error(const std::string& path, bool force = true) {
  return error_of(Fault::usage, [&] { const OutputDirectory out(path, force); });
}

struct WithoutExchange {
  WithoutExchange() { detail::no_exchange = true; }
  ~WithoutExchange() { detail::no_exchange = false; }
};

}  // namespace

TEST_CASE("the output directory of an earlier run is replaced only with force") {
  const TempDir dir;
  const std::string out = dir / "out";
  make(out, "one");
  CHECK(directory_error(out, false) == out + ": exists (use overwrite = true to overwrite)");
  make(out, "two", true);
  make(out + "/", "three", true);
  make(dir / "out/inner/..", "four", true);
  CHECK(dir.read("out/model") == "four");
  CHECK(dir.names() == Names{"out"});
  // A moved or copied result is still a result.
  fs::copy(out, dir / "copy", fs::copy_options::recursive);
  make(dir / "copy", "five", true);
  CHECK(dir.read("copy/model") == "five");
}

TEST_CASE("a directory with foreign or changed entries is not replaced") {
  const TempDir dir;
  const std::string out = dir / "out";
  const auto refuses = [&](const std::string& what, const auto& change) {
    CAPTURE(what);
    fs::remove_all(out);
    make(out, std::string(3 << 20, 'x'));
    change();
    CHECK(directory_error(out) ==
          out + ": not replaced, as a run did not write these entries or they changed since: " +
              what);
    CHECK(dir.names() == Names{"out"});
  };
  refuses("'notes'", [&] { dir.write("out/notes", "x"); });
  refuses("'inner/notes'", [&] { dir.write("out/inner/notes", "x"); });
  refuses("'.git'", [&] { fs::create_directories(dir / "out/.git/objects"); });
  refuses("'empty'", [&] { fs::create_directory(dir / "out/empty"); });
  refuses("'fifo'", [&] { mkfifo((dir / "out/fifo").c_str(), 0600); });
  refuses("'inner/file'", [&] { dir.write("out/inner/file", "y"); });
  refuses("'model'", [&] { dir.write("out/model", "trained further"); });
  refuses("'model'", [&] { dir.write("out/model", std::string(3 << 20, 'y')); });
  refuses("'model'", [&] {
    fs::remove(dir / "out/model");
    fs::create_symlink("inner/file", dir / "out/model");
  });
  for (const char* name : {"1", "2", "3", "4", "5", "6"}) dir.write(std::string("out/") + name, "");
  CHECK(directory_error(out).ends_with("', ..."));
  fs::remove_all(out);
  dir.write("file", "");
  fs::create_directory(out);
  dir.write("out/a", "");
  CHECK(directory_error(out).ends_with("or they changed since: 'a'"));
  fs::remove(dir / "out/a");
  CHECK(directory_error(out).empty());  // an empty directory can be replaced
  CHECK(directory_error(dir / "file").ends_with("expected a directory, got a file"));
  // Missing files do not prevent the replacement.
  make(out, "old", true);
  fs::remove(dir / "out/inner/file");
  CHECK(directory_error(out).empty());
}

TEST_CASE("the working directory, its parents, the root and home directories are never replaced") {
  const TempDir dir;
  const ChildEnd end = run_in_child([&] {
    make(dir / "home", "x");
    make(dir / "work", "x");
    setenv("HOME", (dir / "home").c_str(), 1);
    if (chdir((dir / "work/inner").c_str()) != 0) _exit(50);
    fs::create_symlink(dir / "work", dir / "link");
    std::string said;
    for (const std::string& path :
         {std::string("."), std::string(".."), std::string("../."), std::string("../../work"),
          dir / "link", std::string("/"), dir / "home", std::string("../../home/inner/..")})
      said += directory_error(path).substr(path.size()) + "\n";
    throw Error(Fault::input, said);
  });
  const std::string lies = ": a parent of the working directory is never replaced\n",
                    home = ": a home directory is never replaced\n";
  CHECK(end.err == ": the working directory is never replaced\n" + lies + lies + lies + lies +
                       ": the root directory is never replaced\n" + home + home);
  CHECK(dir.read("work/model") == "x");
}

TEST_CASE("commit keeps the old directory if a foreign file was added meanwhile") {
  const TempDir dir;
  make(dir / "out", "old");
  OutputDirectory out(dir / "out", true);
  put(out, "model", "new");
  dir.write("out/notes", "mine");
  CHECK_THROWS_AS(out.commit(), Error);
  CHECK(dir.read("out/notes") == "mine");
  CHECK(dir.read("out/model") == "old");
}

TEST_CASE("with concurrent runs for one output directory, the last commit with force wins") {
  for (const bool exchange : {true, false}) {
    CAPTURE(exchange);
    detail::no_exchange = !exchange;
    const TempDir dir;
    OutputDirectory a(dir / "out", true), b(dir / "out", true), c(dir / "out", false);
    put(a, "model", "a");
    put(b, "model", "b");
    b.write_manifest();
    put(c, "model", "c");
    b.commit();
    a.commit();
    CHECK(dir.read("out/model") == "a");
    CHECK_THROWS_WITH_AS(
        c.commit(),
        (dir / "out: created by another process meanwhile (use overwrite = true to overwrite)")
            .c_str(),
        Error);
    CHECK(dir.read("out/model") == "a");
  }
  detail::no_exchange = false;
}

TEST_CASE("200 output directories can be open at the same time") {
  const TempDir dir;
  std::vector<std::unique_ptr<OutputDirectory>> all;
  for (int i = 0; i < 200; ++i)
    all.push_back(std::make_unique<OutputDirectory>(dir / std::to_string(i), false));
  for (const auto& out : all) out->commit();
  CHECK(dir.names().size() == all.size());
}

TEST_CASE("leftover directories of killed runs are removed, and similarly named entries are kept") {
  const TempDir dir;
  const auto kill_one = [&](bool force) {
    run_in_child([&] {
      OutputDirectory out(dir / "out", force);
      put(out, "model", "half");
      raise(SIGKILL);
    });
  };
  kill_one(false);
  CHECK(dir.names().size() == 1);
  dir.write(".out.sten-backup", "mine");
  fs::create_directories(dir / ".out.sten-abcdef/deep");
  fs::create_directory(dir / ".out.sten-0-abcdefghijkl");
  const Names mine = {".out.sten-0-abcdefghijkl", ".out.sten-abcdef", ".out.sten-backup"};
  make(dir / "out", "whole");
  Names all = mine;
  all.push_back("out");
  CHECK(held(79, dir.names() == all));
  // The hidden directory of a running process is not removed.
  OutputDirectory live(dir / "out", true);
  put(live, "model", "live");
  live.write_manifest();
  kill_one(true);
  CHECK(dir.names().size() == all.size() + 2);
  make(dir / "out", "next", true);
  CHECK(dir.names().size() == all.size() + 1);
  live.commit();
  CHECK(dir.read("out/model") == "live");
  CHECK(dir.names() == all);
}

TEST_CASE(
    "without an atomic exchange of names, the next run rolls an interrupted replacement back") {
  const WithoutExchange guard;
  const TempDir dir;
  make(dir / "out", "old");
  make(dir / "out", "new", true);
  CHECK(dir.read("out/model") == "new");
  CHECK(dir.names() == Names{"out"});
  // Killed between the two renames: the next run puts the old one back.
  fs::rename(dir / "out", dir / backup_name("out"));
  const testing::Warnings warnings;
  CHECK(directory_error(dir / "out", false) ==
        dir / "out" + ": exists (use overwrite = true to overwrite)");
  CHECK(dir.read("out/model") == "new");
  fs::rename(dir / "out", dir / backup_name("out"));
  make(dir / "out", "third", true);
  CHECK(dir.read("out/model") == "third");
  CHECK(dir.names() == Names{"out"});
}

TEST_CASE("commit_together writes all outputs, or none if one fails") {
  const TempDir dir;
  const auto state = [&] { return dir.read("mask") + " " + dir.read("out/model"); };
  const auto commit = [&](bool force, bool breaks) {
    OutputFile mask(dir / "mask", force);
    mask.write(as_bytes("mask"));
    OutputDirectory out(dir / "out", force);
    put(out, "model", "model");
    out.write_manifest();
    if (breaks) {
      fs::create_directory(dir / "out");
      dir.write("out/notes", "");
    }
    Output* both[] = {&mask, &out};
    commit_together(both);
  };
  CHECK_THROWS_AS(commit(false, true), Error);
  CHECK(dir.names() == Names{"out"});
  fs::remove_all(dir / "out");
  commit(false, false);
  CHECK(state() == "mask model");
  dir.write("mask", "old");
  dir.write("out/notes", "");
  CHECK_THROWS_AS(commit(true, false), Error);
  CHECK(state() == "old model");
  fs::remove(dir / "out/notes");
  {
    OutputFile mask(dir / "mask", true);
    mask.write(as_bytes("new"));
    OutputDirectory out(dir / "out", true);
    put(out, "model", "new");
    OutputFile late(dir / "late", false);
    dir.write("late", "somebody's");
    Output* all[] = {&mask, &out, &late};
    CHECK_THROWS_AS(commit_together(all), Error);
  }
  CHECK(state() == "old model");
  commit(true, false);
  CHECK(state() == "mask model");
  CHECK(dir.names() == Names{"late", "mask", "out"});
}

TEST_CASE("output directories 300 levels deep are created, replaced and removed") {
  const TempDir dir;
  std::string deep = "d";
  for (int i = 0; i < 300; ++i) deep += "/d";
  for (const bool force : {false, true}) {
    OutputDirectory out(dir / "out", force);
    out.make_directory(deep, 0755);
    put(out, deep + "/file", "x");
    out.write_manifest();
    out.commit();
    { const OutputDirectory dropped(dir / "out", true); }
    CHECK(dir.names() == Names{"out"});
  }
  CHECK(dir.read("out/" + deep + "/file") == "x");
}

TEST_CASE("read-only directories inside an output can be filled and replaced") {
  const TempDir dir;
  const ChildEnd end = run_in_child([&] {
    chmod(dir.path().c_str(), 0777);
    if (getuid() == 0 && setuid(65534) != 0) _exit(50);
    for (const bool force : {false, true}) {
      OutputDirectory out(dir / "out", force);
      out.make_directory("a/b", 0500);
      out.make_directory("a", 0555);
      put(out, "a/b/file", "x");
      out.write_manifest();
      out.commit();
    }
  });
  CHECK(end.err.empty());
  CHECK(dir.names() == Names{"out"});
  struct stat s;
  REQUIRE(stat((dir / "out/a").c_str(), &s) == 0);
  CHECK((s.st_mode & 0777) == 0555);
  run_in_child(
      [&] { chmod((dir / "out/a").c_str(), 0755), chmod((dir / "out/a/b").c_str(), 0755); });
}

TEST_CASE("the output manifest is identical for identical contents") {
  const TempDir dir;
  make(dir / "a", "x");
  make(dir / "b", "x");
  CHECK(dir.read("a/.sten-output") == dir.read("b/.sten-output"));
  CHECK(dir.read("a/.sten-output").find("directory - inner\n") != std::string::npos);
  OutputDirectory out(dir / "c", false);
  put(out, "a\nb\\", "x");
  out.write_manifest();
  out.commit();
  CHECK(foreign_entries(dir / "c", 9).empty());
}
