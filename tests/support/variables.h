// SPDX-License-Identifier: Apache-2.0
// Environment variables for tests.
#pragma once
#include <cstdlib>
#include <initializer_list>
#include <utility>
#include <vector>

namespace sten::testing {

// Sets environment variables until the end of the scope.
class Variables {
 public:
  Variables(std::initializer_list<std::pair<const char*, const char*>> all) : all_(all) {
    for (const auto& [name, value] : all_) setenv(name, value, 1);
  }
  ~Variables() {
    for (const auto& [name, value] : all_) unsetenv(name);
  }

 private:
  std::vector<std::pair<const char*, const char*>> all_;
};

}  // namespace sten::testing
