// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/staged/command.h"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "libsten/core/base/error.h"
#include "tests/support/temp_dir.h"

using namespace sten;

namespace {

// The output of the command in a shell.
std::string said(const std::string& command, const Placeholders& values) {
  const TempDir dir;
  const std::string line = "{ " + fill_in(command, values) + "\n} >'" + (dir / "said") + "'";
  CHECK(run_command(line, 20, variables(values)).ok());
  return dir.read("said");
}

}  // namespace

TEST_CASE("plain values of placeholders are inserted verbatim, and other braces stay") {
  const Placeholders values = {{"{in}", "/tmp/x.y"}, {"{stage}", "3"}};
  CHECK(fill_in("t {in} \"{in}\" '{in}' {stage}{stage} $(({stage} + 1))", values) ==
        "t /tmp/x.y \"/tmp/x.y\" '/tmp/x.y' 33 $((3 + 1))");
  CHECK(fill_in("echo ${in} \\{in} {a,b} '{\"in\": 1}' {", values) ==
        "echo ${in} \\{in} {a,b} '{\"in\": 1}' {");
}

TEST_CASE("a placeholder's value is a single shell word in any quoting and never executes") {
  for (const std::string value :
       {"a b", "$(echo run)", "`echo run`", "it's", "say \"hi\"", "'\"'", "back\\slash\\",
        "two\nlines", "*", "~", "", "$HOME", "; echo run", "#x", "\"; echo run; \"",
        "'; echo run; '", "\xff", "-n"}) {
    CAPTURE(value);
    const Placeholders values = {{"{in}", value}, {"{out}", "o\"$(echo run)"}};
    const std::string all = "<" + value + ">";
    CHECK(said("printf '<%s>' {in}", values) == all);
    CHECK(said("printf '<%s>' \"{in}\"", values) == all);
    CHECK(said("printf '<%s>' '{in}'", values) == all);
    CHECK(said("printf '<%s>' x{in}y\"a{in}b\"'c{in}d'", values) ==
          "<x" + value + "ya" + value + "bc" + value + "d>");
    CHECK(said("x=$(printf '<%s>' {in}.); printf %s \"$x\"", values) == "<" + value + ".>");
    CHECK(said("printf %s \"$(printf '<%s>' \"{in}.\")\"", values) == "<" + value + ".>");
    CHECK(said("printf %s \"`printf '<%s>' {in}.`\"", values) == "<" + value + ".>");
    CHECK(said("(printf '<%s>' \"${none:-{in}}\")", values) == all);
    CHECK(said("# it's \"{in}\n printf '<%s>' {in} # don't", values) == all);
    CHECK(said("printf '<%s>' \"a\\\"\"{in}", values) == "<a\"" + value + ">");
    CHECK(said("printf '<%s>' \"$STEN_IN\"", values) == all);
    CHECK(said("sh -c 'printf \"<%s>\" \"$STEN_IN\"'", values) == all);
    CHECK(said("cat <<END\n<{in}>\nEND\n", values).find("\nrun") == std::string::npos);
  }
}

TEST_CASE("a mistyped placeholder is rejected with the nearest known placeholder") {
  const std::vector<std::string> known = {"{in}", "{out}", "{metrics}"};
  CHECK_THROWS_WITH_AS(check_placeholders("t {in} {ouut}", known),
                       "unknown placeholder '{ouut}', did you mean '{out}'?", Error);
  CHECK_NOTHROW(check_placeholders("t {in} ${ouut} {a,b} {} {something_else}", known));
}

TEST_CASE("run_command reports the exit code or signal of a command") {
  CHECK(run_command("exit 0", 0).ok());
  CHECK(run_command("exit 7", 0).text() == "ended with exit code 7");
  CHECK(run_command("kill -9 $$", 0).signal == 9);
  CHECK(run_command("read x", 0).code != 0);  // no standard input
  CHECK(run_command("sten-no-such-program 2>&-", 0).code == 127);
}

TEST_CASE("a timeout ends a command and its child processes") {
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

TEST_CASE("background processes of a command end with the command") {
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

TEST_CASE("child processes of a command end when the calling process is killed") {
  const TempDir dir;
  const pid_t us = fork();
  if (us == 0) {
    // The shell ends at the first signal; its children ignore every signal that can be ignored.
    run_command("(trap '' TERM HUP INT; sleep 60) & (trap '' TERM; sleep 60) & echo $! > '" +
                    (dir / "pid") + "'; wait",
                0);
    _exit(0);
  }
  const auto wait_until = [](const auto& holds) {
    for (int i = 0; i < 1000 && !holds(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return holds();
  };
  const auto pid = [&] {
    const std::string text = std::filesystem::exists(dir / "pid") ? dir.read("pid") : "";
    return text.ends_with("\n") ? std::stoi(text) : 0;
  };
  REQUIRE(wait_until([&] { return pid() != 0; }));
  const pid_t started = pid();
  const pid_t group = getpgid(started);
  CHECK(group != getpgid(0));
  kill(us, SIGKILL);
  waitpid(us, nullptr, 0);
  // Its parent is gone, and in a container the ended process may never be reaped.
  const auto gone = [&] {
    std::ifstream stat("/proc/" + std::to_string(started) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(stat), {}};
    const std::size_t at = text.rfind(')');
    return at == std::string::npos || text[at + 2] == 'Z' || text[at + 2] == 'X';
  };
  CHECK(wait_until(gone));
}
