// SPDX-License-Identifier: Apache-2.0
// The programs as commands of sten: "sten prune" is sten-prune.
#pragma once
#include <CLI/CLI.hpp>
#include <span>
#include <string>

#include "apps/program.h"

namespace sten::app {

struct Command {
  const char* name;     // "prune"
  const char* purpose;  // Program::purpose of sten-prune
};

// In the order of STEN_PROGRAMS. The build writes the list from the programs.
std::span<const Command> commands();

// The description of sten for its help and manual.
const Program& command_program();
// Adds the arguments and options of sten to `app`.
void define_command_app(CLI::App& app);

// The text of sten --help.
std::string command_help();

// Completion of the commands; the words behind a command are completed as those of its program.
std::string command_bash_completion();
std::string command_zsh_completion();
std::string command_fish_completion();

}  // namespace sten::app
