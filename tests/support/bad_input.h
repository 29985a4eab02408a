// SPDX-License-Identifier: Apache-2.0
// Invalid inputs. Records which cases of docs/bad_input.md the tests covered, for
// scripts/checks/bad_input_coverage.sh.
#pragma once
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace sten::testing {

// An input that a reader refuses, and the error after the name of the file.
struct BadInput {
  std::string input, message;
};

// REQUIRE(held(13, ...)): records case 13 as covered if `ok`.
inline bool held(int number, bool ok, std::string_view file = __builtin_FILE()) {
  if (const char* record = std::getenv("STEN_RECORD"); record && ok)
    std::ofstream(record, std::ios::app)
        << number << ' ' << file.substr(file.rfind("tests/")) << '\n';
  return ok;
}

}  // namespace sten::testing
