// SPDX-License-Identifier: Apache-2.0
// Writes the manual or a completion of sten to FILE.
//   sten-manual man|bash-completion|zsh-completion|fish-completion FILE
#include "apps/commands.h"
#include "apps/manual.h"
#include "apps/write_page.h"

int main(int argc, char** argv) {
  using namespace sten::app;
  CLI::App app;
  define_command_app(app);
  return write_page("sten", argc, argv,
                    {{"man", [&] { return man_page(command_program(), app); }},
                     {"bash-completion", command_bash_completion},
                     {"zsh-completion", command_zsh_completion},
                     {"fish-completion", command_fish_completion}});
}
