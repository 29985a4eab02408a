// Which cases of docs/bad_input.md tests held: scripts/checks/bad_input_coverage.sh reads it when they have
// run.
#pragma once
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace sten::testing {

// REQUIRE(held(13, ...)): case 13 holds where `ok` does, and is in the record of the run then.
inline bool held(int number, bool ok, std::string_view file = __builtin_FILE()) {
  if (const char* record = std::getenv("STEN_RECORD"); record && ok)
    std::ofstream(record, std::ios::app)
        << number << ' ' << file.substr(file.rfind("tests/")) << '\n';
  return ok;
}

}  // namespace sten::testing
