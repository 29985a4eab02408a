#include "libsten/run/staged/command.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "libsten/base/error.h"
#include "tests/support/temp_dir.h"

using namespace sten;

TEST_CASE("placeholders are replaced, quoted where the shell needs it; other braces stay") {
  const Placeholders values = {{"{in}", "a b'c"}, {"{out}", "/tmp/x.y"}, {"{stage}", "3"}};
  CHECK(fill_in("t {in} -o {out} {stage}{stage}", values) == "t 'a b'\\''c' -o /tmp/x.y 33");
  CHECK(fill_in("echo ${in} {a,b} '{\"in\": 1}' {", values) == "echo ${in} {a,b} '{\"in\": 1}' {");
}

TEST_CASE("a mistyped placeholder is refused with the nearest one") {
  const std::vector<std::string> known = {"{in}", "{out}", "{metrics}"};
  CHECK_THROWS_WITH_AS(check_placeholders("t {in} {ouut}", known),
                       "there is no placeholder '{ouut}', did you mean '{out}'?", Error);
  CHECK_NOTHROW(check_placeholders("t {in} ${ouut} {a,b} {} {something_else}", known));
}

TEST_CASE("how a command ended is known") {
  CHECK(run_command("exit 0", 0).ok());
  CHECK(run_command("exit 7", 0).text() == "ended with exit code 7");
  CHECK(run_command("kill -9 $$", 0).signal == 9);
  CHECK(run_command("read x", 0).code != 0);  // no standard input
  CHECK(run_command("sten-no-such-program 2>&-", 0).code == 127);
}

TEST_CASE("a command that takes too long is ended, with what it started") {
  const TempDir dir;
  const CommandEnd end = run_command(
      "(sleep 3; touch '" + (dir / "late") + "') & echo $! > '" + (dir / "pid") + "'; wait", 0.2);
  CHECK(end.timed_out);
  const pid_t started = std::stoi(dir.read("pid"));
  bool gone = false;
  for (int i = 0; i < 200 && !gone; ++i) {
    gone = kill(started, 0) != 0;
    if (!gone) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(gone);
}

TEST_CASE("what a command leaves in the background ends with it") {
  const TempDir dir;
  CHECK(run_command("sleep 30 & echo $! > '" + (dir / "pid") + "'", 0).ok());
  const pid_t started = std::stoi(dir.read("pid"));
  bool gone = false;
  for (int i = 0; i < 200 && !gone; ++i) {
    gone = kill(started, 0) != 0;
    if (!gone) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(gone);
}
