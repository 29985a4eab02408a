// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of the paper's examples and claims.
#pragma once
#include <doctest/doctest.h>

#include "libsten/compute/ops/common/operators.h"
#include "libsten/core/base/log.h"
#include "tests/support/parts.h"
#include "tests/support/strict.h"

namespace sten::testing {

inline double share(const Tensor& x) {
  return static_cast<double>(x.stored().count()) / static_cast<double>(size_of(x.shape()));
}
inline Sparsifier by(const char* spec) { return registry().sparsifier(Spec::parse(spec)); }

// Records the executed plans and the warnings until the end of the scope.
struct Watch {
  std::vector<std::string> plans, warnings;
  Watch() {
    Operators::log_plans(&plans);
    set_log_sink([this](const std::string& text) { warnings.push_back(text); });
  }
  ~Watch() {
    Operators::log_plans(nullptr);
    set_log_sink([](const std::string& text) {
      std::fputs(("sten: warning: " + text + "\n").c_str(), stderr);
    });
  }
};

// The same in strict mode: a fallback throws an Error.
struct StrictWatch : Watch {
  const Strict strict;
};

}  // namespace sten::testing
