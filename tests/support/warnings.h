// SPDX-License-Identifier: Apache-2.0
// Records the library's warnings for tests.
#pragma once
#include <cstdio>
#include <string>
#include <vector>

#include "libsten/core/base/log.h"

namespace sten::testing {

// Records warnings until the end of the scope.
struct Warnings {
  std::vector<std::string> all;

  Warnings() {
    set_log_sink([this](const std::string& text) { all.push_back(text); });
  }
  ~Warnings() {
    set_log_sink([](const std::string& text) {
      std::fputs(("sten: warning: " + text + "\n").c_str(), stderr);
    });
  }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
};

}  // namespace sten::testing
