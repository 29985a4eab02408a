// A command of the user's, run between stages.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace sten {

// "{in}" and its value, and so on.
using Placeholders = std::vector<std::pair<std::string, std::string>>;

// The command with every placeholder replaced by its value, as a part of the word it stands in,
// bare or within quotes of either kind. A value that the shell would read as more than text goes by
// its variable. Braces around anything else are the shell's own and stay, and so does "\{in}".
std::string fill_in(const std::string& command, const Placeholders& values);
// "STEN_IN=...": the variables for the command's environment.
std::vector<std::string> variables(const Placeholders& values);
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

// Runs it by /bin/sh in a process group of its own, without standard input, with `variables` added
// to the environment; what it prints goes to standard error. All of the group ends with the
// command, and with this process, however that ends (what begins a session of its own leaves the
// group); and after `timeout` seconds (0: as long as it takes). Error where it cannot be started.
CommandEnd run_command(const std::string& command, double timeout,
                       const std::vector<std::string>& variables = {});

}  // namespace sten
