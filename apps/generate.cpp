// Linked with a program's flags in place of main.cpp: writes its manual or completion to FILE.
//   sten-prune-manual man|bash-completion FILE
#include <cstdio>
#include <fstream>

#include "apps/completion.h"
#include "apps/main.h"
#include "apps/manual.h"

namespace sten::app {

void print_line(const char* program, const std::string& text) {
  std::fprintf(stderr, "%s: %s\n", program, text.c_str());
}

int run(const Program& program, int argc, char** argv, const Define& define) {
  const std::string form = argc == 3 ? argv[1] : "";
  if (form != "man" && form != "bash-completion") {
    print_line(program.name, "arguments: man|bash-completion FILE");
    return 2;
  }
  Common common;
  CLI::App app;
  define_app(program, define, app, common);
  std::ofstream out(argv[2], std::ios::binary);
  out << (form == "man" ? man_page(program, app) : bash_completion(program, app)) << std::flush;
  if (out) return 0;
  print_line(program.name, std::string(argv[2]) + ": cannot be written");
  return 1;
}

}  // namespace sten::app
