// SPDX-License-Identifier: Apache-2.0
#include "apps/write_page.h"

#include <fmt/format.h>

#include <fstream>

#include "apps/main.h"

namespace sten::app {

int write_page(const char* program, int argc, char** argv,
               const std::map<std::string, std::function<std::string()>>& pages) {
  const auto page = argc == 3 ? pages.find(argv[1]) : pages.end();
  if (page == pages.end()) {
    std::string names;
    for (const auto& [name, text] : pages) names += (names.empty() ? "" : "|") + name;
    print_line(program, fmt::format("arguments: {} FILE", names));
    return 2;
  }
  std::ofstream out(argv[2], std::ios::binary);
  out << page->second() << std::flush;
  if (out) return 0;
  print_line(program, fmt::format("{}: cannot be written", argv[2]));
  return 1;
}

}  // namespace sten::app
