// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/log.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

using namespace sten;

TEST_CASE("warnings are formatted and sent to the log sink") {
  std::vector<std::string> seen;
  set_log_sink([&](const std::string& text) { seen.push_back(text); });
  warn("{} of {}", 2, "four");
  log_warning("plain {}");
  set_log_sink(nullptr);
  warn("nobody hears this");
  CHECK(seen == std::vector<std::string>{"2 of four", "plain {}"});
  set_log_sink(
      [](const std::string& text) { std::fprintf(stderr, "sten: warning: %s\n", text.c_str()); });
}
