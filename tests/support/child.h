// SPDX-License-Identifier: Apache-2.0
// Runs code that ends its process in a child process.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <exception>
#include <string>

struct ChildEnd {
  int code = -1;    // -1 if it did not exit
  int signal = 0;   // the signal that ended it, or 0
  std::string err;  // standard error
};

// Exit code 0 if f returns; 99 if f throws, with the message on standard error.
template <class F>
ChildEnd run_in_child(F f) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    try {
      f();
    } catch (const std::exception& e) {
      const std::string what = e.what();
      if (write(STDERR_FILENO, what.data(), what.size()) < 0) _exit(98);
      _exit(99);
    }
    _exit(0);
  }
  close(ends[1]);
  ChildEnd end;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0;)
    end.err.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) end.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return end;
}
