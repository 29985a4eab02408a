// SPDX-License-Identifier: Apache-2.0
#include "libsten/files/system/unfinished.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "libsten/core/base/error.h"
#include "libsten/files/system/atomic_file.h"
#include "libsten/files/system/fd.h"
#include "libsten/files/system/interrupted.h"
#include "tests/support/child.h"
#include "tests/support/safetensors_bytes.h"
#include "tests/support/temp_dir.h"

using namespace sten;
using Names = std::vector<std::string>;

namespace {

// A program that is ended by `signal` while its output is half written.
ChildEnd interrupted(const TempDir& dir, int signal, bool named, bool force) {
  return run_in_child([&] {
    install_interrupt_handlers();
    detail::named_temporaries_only = named;
    OutputFile out(dir / "out", force);
    out.write(as_bytes("half"));
    raise(signal);
    out.commit();
  });
}

}  // namespace

TEST_CASE("an interrupted program keeps the old output and removes unfinished files") {
  for (bool named : {false, true}) {
    CAPTURE(named);
    const TempDir dir;
    CHECK(interrupted(dir, SIGTERM, named, false).code == 143);
    CHECK(interrupted(dir, SIGINT, named, false).code == 130);
    CHECK(interrupted(dir, SIGHUP, named, false).code == 129);
    CHECK(dir.names().empty());
    dir.write("out", "old");
    CHECK(interrupted(dir, SIGTERM, named, true).code == 143);
    CHECK(dir.names() == Names{"out"});
    CHECK(dir.read("out") == "old");
  }
}

TEST_CASE("an interrupted program reports the state of each output and the resume hint") {
  const TempDir dir;
  dir.write("old", "old");
  const auto says = [&](const std::vector<std::string>& kept) {
    return run_in_child([&] {
             install_interrupt_handlers();
             watch_outputs("prog", {dir / "done", dir / "old", dir / "half\x1b", "-"});
             OutputFile done(dir / "done", true), old(dir / "old", true);
             done.commit();
             for (const std::string& text : kept) set_resume_hint(text);
             raise(SIGINT);
           })
        .err;
  };
  const auto quoted = [&](const char* name) { return "'" + (dir / name) + "'"; };
  const std::string outputs = "prog: interrupted: " + quoted("done") + " is written, " +
                              quoted("old") + " is as it was, " + quoted("half\\x1b") +
                              " is not written; what was unfinished is removed";
  CHECK(says({}) == outputs + "\n");
  CHECK(says({"1 of 3", "2 of 3", "3 of 3; go on"}) == outputs + "; 3 of 3; go on\n");
  // Longer than the limit: truncated to one line.
  const std::string cut = says({std::string(100'000, 'x')});
  CHECK(cut.size() == outputs.size() + 2 + 1023 + 1);
  CHECK(cut.ends_with("x\n"));
  CHECK(run_in_child([] {
          install_interrupt_handlers();
          raise(SIGINT);
        }).err.empty());
}

TEST_CASE("writing to a closed pipe ends the program silently and removes unfinished files") {
  const TempDir dir;
  const ChildEnd end = run_in_child([&] {
    signal(SIGPIPE, SIG_IGN);  // some parent processes leave it so
    install_interrupt_handlers();
    detail::named_temporaries_only = true;
    OutputFile unfinished(dir / "out", false);
    int ends[2];
    if (pipe(ends) != 0) _exit(50);
    close(ends[0]);
    dup2(ends[1], STDOUT_FILENO);
    OutputFile out("-", false);
    out.write(as_bytes("x"));
    out.commit();
  });
  CHECK(end.signal == SIGPIPE);
  CHECK(end.err.empty());
  CHECK(dir.names().empty());
}

TEST_CASE("signals that were ignored at program start stay ignored") {
  const TempDir dir;
  const ChildEnd end = run_in_child([&] {
    signal(SIGHUP, SIG_IGN);
    install_interrupt_handlers();
    raise(SIGHUP);
  });
  CHECK(end.code == 0);
}

TEST_CASE(
    "more than 1024 simultaneous outputs are rejected, and released outputs free their slots") {
  const TempDir dir;
  const Fd at(open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto claim = [&](int n) {
    std::vector<std::unique_ptr<UnfinishedName>> names;
    for (int i = 0; i < n; ++i) {
      names.push_back(std::make_unique<UnfinishedName>(at.get(), std::to_string(i)));
      if (i % 100 == 0) dir.write(std::to_string(i), "half");
    }
  };
  claim(1024);
  CHECK_THROWS_WITH_AS(claim(1025), "expected at most 1024 outputs at the same time", Error);
  claim(1024);
  CHECK(dir.names().empty());
}
