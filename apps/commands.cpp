// SPDX-License-Identifier: Apache-2.0
#include "apps/commands.h"

#include <fmt/format.h>

#include "libsten/core/base/version.h"

namespace sten::app {
namespace {

constexpr Command all_commands[] = {
#include "commands.inc"
};

}  // namespace

std::span<const Command> commands() { return all_commands; }

const Program& command_program() {
  static const Program program = {
      .name = "sten",
      .purpose = "Prune, convert, measure, train and run sparse neural networks.",
      .example = "sten prune model.safetensors -o pruned.safetensors --sparsity 0.9",
      .examples = {{"Print the options of a command:", "sten help prune"}}};
  return program;
}

void define_command_app(CLI::App& app) {
  static std::string command;
  static std::vector<std::string> arguments;
  std::string text = "Program to run; sten COMMAND is the program sten-COMMAND";
  for (const Command& c : commands()) text += fmt::format("\n- {}: {}", c.name, c.purpose);
  text += "\n- help: Print the help of the command that follows.";
  app.add_option("COMMAND", command, text);
  app.add_option("ARGUMENTS", arguments, "Arguments and options of the command");
  app.set_help_flag("-h,--help", "Print this help")->group(groups::general);
  app.set_version_flag("--version", std::string(version()), "Print the version")
      ->group(groups::general);
}

std::string command_help() {
  const Program& program = command_program();
  std::string out = fmt::format(
      "{}\nUsage: sten COMMAND [ARGUMENTS...]\n\n"
      "Commands:\n",
      program.purpose);
  const auto add = [&](std::string_view name, std::string_view text) {
    out += fmt::format("  {:<12}{}\n", name, text);
  };
  for (const Command& c : commands()) add(c.name, c.purpose);
  add("help", "Print the help of a command.");
  out += "\nOptions:\n";
  add("-h, --help", "Print this help.");
  add("--version", "Print the version.");
  out += fmt::format("\nExamples:\n  {}\n", program.example);
  for (const Example& e : program.examples)
    out += fmt::format("\n  {}\n  {}\n", e.title, e.command);
  return out +
         "\nsten COMMAND is the program sten-COMMAND, with the same arguments and exit codes.\n";
}

}  // namespace sten::app
