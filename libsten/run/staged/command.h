// A command of the user's, run between stages.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace sten {

// "{in}" and its value, and so on.
using Placeholders = std::vector<std::pair<std::string, std::string>>;

// The command with every placeholder replaced, its value quoted for the shell where it needs it.
// Braces around anything else are the shell's own and stay.
std::string fill_in(const std::string& command, const Placeholders& values);
// Error (usage) for what looks like one of `known`, mistyped: "{ouput}".
void check_placeholders(const std::string& command, const std::vector<std::string>& known);

// How a command ended.
struct CommandEnd {
  int code = 0;            // its exit code
  int signal = 0;          // the signal that ended it, or 0
  bool timed_out = false;  // it was ended because it took too long
  bool ok() const { return code == 0 && signal == 0 && !timed_out; }
  std::string text() const;  // "ended with exit code 7"
};

// Runs it by /bin/sh in a process group of its own, without standard input; what it prints goes to
// standard error. It and all it started end with this process, and after `timeout` seconds (0: as
// long as it takes). Error where it cannot be started.
CommandEnd run_command(const std::string& command, double timeout);

}  // namespace sten
