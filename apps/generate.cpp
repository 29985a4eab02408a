// SPDX-License-Identifier: Apache-2.0
// Linked with a program's flags instead of main.cpp: writes its manual, its completion or its entry of
// commands.inc (apps/commands.cpp) to FILE.
//   sten-prune-manual man|bash-completion|zsh-completion|fish-completion|command FILE
#include <fmt/format.h>

#include <cstdio>

#include "apps/completion.h"
#include "apps/main.h"
#include "apps/manual.h"
#include "apps/write_page.h"

namespace sten::app {

void print_result(const std::string& text) { std::fputs(text.c_str(), stdout); }

void print_line(const char* program, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n", program, text.c_str());
}

namespace {

std::string command_entry(const Program& program, const CLI::App&) {
  return fmt::format("{{\"{}\", R\"({})\"}},\n", std::string_view(program.name).substr(5),
                     program.purpose);
}

}  // namespace

int run(const Program& program, int argc, char** argv, const Define& define) {
  Common common;
  CLI::App app;
  define_app(program, define, app, common);
  const auto page = [&](auto& write) { return [&] { return write(program, app); }; };
  return write_page(program.name, argc, argv,
                    {{"man", page(man_page)},
                     {"bash-completion", page(bash_completion)},
                     {"zsh-completion", page(zsh_completion)},
                     {"fish-completion", page(fish_completion)},
                     {"command", page(command_entry)}});
}

}  // namespace sten::app
