// SPDX-License-Identifier: Apache-2.0
// Linked with a program's flags instead of main.cpp: writes its manual or completion to FILE.
//   sten-prune-manual man|bash-completion|zsh-completion|fish-completion FILE
#include <cstdio>
#include <fstream>
#include <map>

#include "apps/completion.h"
#include "apps/main.h"
#include "apps/manual.h"

namespace sten::app {

void print_result(const std::string& text) { std::fputs(text.c_str(), stdout); }

void print_line(const char* program, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n", program, text.c_str());
}

int run(const Program& program, int argc, char** argv, const Define& define) {
  using Page = std::string (*)(const Program&, const CLI::App&);
  static const std::map<std::string, Page> pages = {{"man", man_page},
                                                    {"bash-completion", bash_completion},
                                                    {"zsh-completion", zsh_completion},
                                                    {"fish-completion", fish_completion}};
  const auto page = argc == 3 ? pages.find(argv[1]) : pages.end();
  if (page == pages.end()) {
    print_line(program.name, "arguments: man|bash-completion|zsh-completion|fish-completion FILE");
    return 2;
  }
  Common common;
  CLI::App app;
  define_app(program, define, app, common);
  std::ofstream out(argv[2], std::ios::binary);
  out << page->second(program, app) << std::flush;
  if (out) return 0;
  print_line(program.name, std::string(argv[2]) + ": cannot be written");
  return 1;
}

}  // namespace sten::app
