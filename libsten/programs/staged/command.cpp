// SPDX-License-Identifier: Apache-2.0
#include "libsten/programs/staged/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "libsten/core/base/error.h"
#include "libsten/files/system/fd.h"
#include "libsten/files/system/interrupted.h"
#include "libsten/files/system/unfinished.h"

namespace sten {
namespace {

// Waits for the process to end; false after `seconds` (negative: no limit).
bool wait_for(int process, double seconds) {
  using Clock = std::chrono::steady_clock;
  // A year stands for no limit.
  const auto until =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(std::min(seconds, 31536000.0)));
  for (;;) {
    int left = -1;
    if (seconds >= 0) {
      const double ms = std::chrono::duration<double, std::milli>(until - Clock::now()).count();
      if (ms <= 0) return false;
      left = static_cast<int>(std::min(ms + 1, 1e9));
    }
    pollfd p{process, POLLIN, 0};
    const int n = poll(&p, 1, left);
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return true;
  }
}

// The leader of the command's process group: waits for the end of this process, however it ends,
// then ends the group. While the leader lives, no other group can get its id. Calls only functions
// that are safe after a fork of several threads.
[[noreturn]] void guard(int ours) {
  setpgid(0, 0);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(s, SIG_IGN);
  // Closes inherited locks and pipes.
  dup2(ours, STDIN_FILENO);
  const int nowhere = open("/dev/null", O_RDWR);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, 0);
  char none = 0;
  while (read(STDIN_FILENO, &none, 1) < 0 && errno == EINTR) {
  }
  kill(0, SIGTERM);
  sleep(1);
  kill(0, SIGKILL);
  _exit(0);
}

[[noreturn]] void become(const char* command, char** environment, pid_t group, pid_t parent) {
  setpgid(0, group);
  // Ends this child if its parent is killed; the guard ends the child's processes.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(128 + SIGTERM);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) signal(s, SIG_DFL);
  close(STDIN_FILENO);
  (void)!open("/dev/null", O_RDONLY);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  execle("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr), environment);
  _exit(127);
}

// The environment with `variables` added or replaced.
std::vector<char*> environment_with(const std::vector<std::string>& variables) {
  std::vector<char*> out;
  for (char** e = environ; *e; ++e) {
    const std::string_view name = std::string_view(*e).substr(0, std::strcspn(*e, "=") + 1);
    if (std::none_of(variables.begin(), variables.end(),
                     [&](const std::string& v) { return v.starts_with(name); }))
      out.push_back(*e);
  }
  for (const std::string& v : variables) out.push_back(const_cast<char*>(v.c_str()));
  out.push_back(nullptr);
  return out;
}

// Forks a process that runs `child` in `group`, or for 0 in its own group. Returns its id.
template <typename F>
pid_t forked(pid_t group, const F& child) {
  const pid_t process = fork();
  if (process < 0) fail("command cannot be started: {}", errno_text(errno));
  if (process == 0) child();
  setpgid(process, group ? group : process);  // in both processes, to avoid a race
  return process;
}

int wait_for_end(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// Ends all processes of the group, including the guard, also after errors.
struct Group {
  explicit Group(pid_t id) : id(id), interrupted(id) {}
  ~Group() {
    kill(-id, SIGKILL);
    wait_for_end(id);
  }
  const pid_t id;
  const EndsWithUs interrupted;
};

}  // namespace

std::string CommandEnd::text() const {
  if (timed_out) return "took longer than its time and was ended";
  if (signal) return fmt::format("was ended by signal {} ({})", signal, strsignal(signal));
  return fmt::format("ended with exit code {}", code);
}

CommandEnd run_command(const std::string& command, double timeout,
                       const std::vector<std::string>& variables) {
  const pid_t parent = getpid();
  std::vector<char*> environment = environment_with(variables);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("command cannot be started: {}", errno_text(errno));
  const Fd theirs(ends[0]), ours(ends[1]);  // never written: ends with this process
  // Prints buffered output before the command's output, and only once.
  fflush(nullptr);
  // Background processes of the command must not write to later stages.
  const Group group(forked(0, [&] { guard(theirs.get()); }));
  const pid_t child =
      forked(group.id, [&] { become(command.c_str(), environment.data(), group.id, parent); });
  // glibc 2.36 declares pidfd_open() for C only.
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  CommandEnd end;
  if (!process) {
    const int error = errno;
    kill(child, SIGKILL);
    wait_for_end(child);
    fail("command status is unavailable: {}", errno_text(error));
  }
  if (!wait_for(process.get(), timeout > 0 ? timeout : -1)) {
    end.timed_out = true;
    kill(-group.id, SIGTERM);
    constexpr double grace = 5;
    if (!wait_for(process.get(), grace)) kill(-group.id, SIGKILL);
  }
  const int status = wait_for_end(child);
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

}  // namespace sten
