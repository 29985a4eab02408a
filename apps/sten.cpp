// SPDX-License-Identifier: Apache-2.0
// sten: "sten prune ..." runs the program sten-prune beside it with these arguments.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "apps/commands.h"
#include "apps/main.h"
#include "libsten/core/base/error.h"
#include "libsten/core/base/text.h"
#include "libsten/core/base/version.h"

namespace {

constexpr const char* where_listed = "sten --help lists the commands";

// "/usr/bin/sten-prune", beside the file of this process; Error (usage) if no command has the name.
std::string program_of(const std::string& name) {
  std::vector<std::string> names;
  for (const sten::app::Command& c : sten::app::commands()) names.push_back(c.name);
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    names.push_back("help");
    sten::fail_usage("unknown command {}{} ({})", sten::quote(name), sten::suggestion(name, names),
                     where_listed);
  }
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename("sten-" + name).string();
}

[[noreturn]] void execute(const std::string& program, std::vector<char*> arguments) {
  std::string name = program;
  arguments.insert(arguments.begin(), name.data());
  arguments.push_back(nullptr);
  execv(program.c_str(), arguments.data());
  sten::fail("{}: cannot be run: {}", sten::printable(program), std::strerror(errno));
}

void run_command(int argc, char** argv) {
  const std::vector<char*> words(argv + 1, argv + argc);
  if (words.empty()) sten::fail_usage("missing command ({})", where_listed);
  const std::string first = words[0];
  if (first != "help" && !first.starts_with('-')) {
    execute(program_of(first), {words.begin() + 1, words.end()});
  } else if (first == "help" && words.size() > 1) {
    if (words.size() > 2) sten::fail_usage("unexpected argument {}", sten::quote(words[2]));
    std::string flag = "--help";
    execute(program_of(words[1]), {flag.data()});
  } else if (first == "help" || first == "--help" || first == "-h") {
    sten::app::print_result(sten::app::command_help());
  } else if (first == "--version") {
    sten::app::print_result(fmt::format("sten {}\n", sten::version()));
  } else {
    sten::fail_usage("unknown option {}{}", sten::quote(first),
                     sten::suggestion(first, {"--help", "--version"}));
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run_command(argc, argv);
    return 0;
  } catch (const sten::Error& e) {
    sten::app::print_line("sten", e.what());
    return static_cast<int>(e.fault());
  } catch (const std::exception& e) {
    sten::app::print_line("sten", e.what());
  }
  return static_cast<int>(sten::Fault::input);
}
