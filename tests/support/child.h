// Code that ends its process, run in a child.
#pragma once
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <exception>
#include <string>

struct ChildEnd {
  int code = -1;    // exit code, or -1
  int signal = 0;   // that ended it, or 0
  std::string err;  // its standard error
};

// Exit code 0 where f returns, 99 with the text on standard error where it throws.
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
