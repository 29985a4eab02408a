#include "libsten/run/staged/command.h"

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
#include <cmath>
#include <cstdio>
#include <cstring>

#include "libsten/base/error.h"
#include "libsten/base/text.h"
#include "libsten/io/fd.h"
#include "libsten/io/unfinished.h"

namespace sten {
namespace {

constexpr std::string_view plain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:,@%=";

std::string shell_word(const std::string& text) {
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Waits until the process has ended; false if it has not after `seconds` (negative: for ever).
bool wait_for(int process, double seconds) {
  using Clock = std::chrono::steady_clock;
  // A year is as good as for ever.
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

[[noreturn]] void become(const std::string& command, pid_t parent) {
  setpgid(0, 0);
  // If we are killed, the shell goes too; a signal that can be handled ends the whole group.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(128 + SIGTERM);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) signal(s, SIG_DFL);
  close(STDIN_FILENO);
  (void)!open("/dev/null", O_RDONLY);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

}  // namespace

std::string fill_in(const std::string& command, const Placeholders& values) {
  std::string out;
  for (std::size_t i = 0; i < command.size();) {
    const auto at = std::find_if(values.begin(), values.end(), [&](const auto& v) {
      return command.compare(i, v.first.size(), v.first) == 0;
    });
    // "${in}" is a variable of the shell.
    if (at == values.end() || (i > 0 && command[i - 1] == '$')) {
      out += command[i++];
    } else {
      out += shell_word(at->second);
      i += at->first.size();
    }
  }
  return out;
}

void check_placeholders(const std::string& command, const std::vector<std::string>& known) {
  for (std::size_t i = command.find('{'); i != std::string::npos; i = command.find('{', i + 1)) {
    if (i > 0 && command[i - 1] == '$') continue;
    const std::size_t end = command.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", i + 1);
    if (end == std::string::npos || end == i + 1 || command[end] != '}') continue;
    const std::string word = command.substr(i, end + 1 - i);
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    const std::string near = suggestion(word, known);
    if (!near.empty()) fail_usage("there is no placeholder {}{}", quote(word), near);
  }
}

std::string CommandEnd::text() const {
  if (timed_out) return "took longer than its time and was ended";
  if (signal) return fmt::format("was ended by signal {} ({})", signal, strsignal(signal));
  return fmt::format("ended with exit code {}", code);
}

CommandEnd run_command(const std::string& command, double timeout) {
  const pid_t parent = getpid();
  // Whatever was printed is said before the command's own words, and not twice.
  fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) fail("a command cannot be started: {}", errno_text(errno));
  if (child == 0) become(command, parent);
  setpgid(child, child);  // whoever is first
  const EndsWithUs group(child);
  // Not pidfd_open(), which glibc 2.36 declares for C alone.
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  CommandEnd end;
  if (!process) fail("a command cannot be waited for: {}", errno_text(errno));
  if (!wait_for(process.get(), timeout > 0 ? timeout : -1)) {
    end.timed_out = true;
    kill(-child, SIGTERM);
    constexpr double grace = 5;
    if (!wait_for(process.get(), grace)) kill(-child, SIGKILL);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  // What it left running in the background must not write into later stages.
  kill(-child, SIGKILL);
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}

}  // namespace sten
