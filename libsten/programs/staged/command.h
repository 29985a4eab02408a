// SPDX-License-Identifier: Apache-2.0
// User command that runs between stages.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace sten {

// Pairs such as "{in}" and its value.
using Placeholders = std::vector<std::pair<std::string, std::string>>;

// Replaces placeholders in a command by their values, each as part of the word around it, bare or
// in either kind of quotes. A value with shell syntax is passed as a variable. Other braces, and
// "\{in}", are left to the shell.
std::string fill_in(const std::string& command, const Placeholders& values);
// The variables of the command's environment: "STEN_IN=...".
std::vector<std::string> variables(const Placeholders& values);
// Error (usage) for a mistyped placeholder of `known`: "{ouput}".
void check_placeholders(const std::string& command, const std::vector<std::string>& known);

// The end of a command.
struct CommandEnd {
  int code = 0;            // its exit code
  int signal = 0;          // the signal that ended it, or 0
  bool timed_out = false;  // ended by the timeout
  bool ok() const { return code == 0 && signal == 0 && !timed_out; }
  std::string text() const;  // "ended with exit code 7"
};

// Runs a command by /bin/sh in its own process group, without standard input, with `variables`
// added to the environment and its output on standard error. The group ends with the command, with
// this process (however it ends), and after `timeout` seconds (0: no limit); a process that starts
// its own session leaves the group. Error if the command cannot be started.
CommandEnd run_command(const std::string& command, double timeout,
                       const std::vector<std::string>& variables = {});

}  // namespace sten
