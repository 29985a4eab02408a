// SPDX-License-Identifier: Apache-2.0
// Parts of documentation pages that tests write: the lines between "<!-- NAME, written by TEST -->"
// and "<!-- end -->".
#pragma once
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace sten::testing {

// Checks that the page has these texts at their names; STEN_UPDATE_GOLDEN=1 writes them instead.
inline void check_page(const std::string& page, const std::string& test,
                       const std::vector<std::pair<std::string, std::string>>& texts) {
  const bool writes = std::getenv("STEN_UPDATE_GOLDEN") != nullptr;
  const std::string path = std::string(STEN_SOURCE_DIR) + "/" + page;
  std::ostringstream read;
  read << std::ifstream(path).rdbuf();
  std::string all = read.str();
  for (const auto& [name, text] : texts) {
    std::string begin = "<!-- ";
    begin.append(name).append(", written by ").append(test).append(" -->\n");
    CAPTURE(begin);
    const std::size_t from = all.find(begin);
    REQUIRE(from != std::string::npos);
    const std::size_t at = from + begin.size(), to = all.find("<!-- end -->", at);
    REQUIRE(to != std::string::npos);
    if (!writes) CHECK(all.substr(at, to - at) == text);
    all.replace(at, to - at, text);
  }
  if (writes) std::ofstream(path) << all;
}

}  // namespace sten::testing
