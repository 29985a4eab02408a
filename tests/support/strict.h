// SPDX-License-Identifier: Apache-2.0
// Strict mode for tests: a fallback is an Error.
#pragma once
#include "libsten/core/base/fallback.h"

namespace sten::testing {

// Strict mode until the end of the scope.
class Strict {
 public:
  Strict() { set_strict(true); }
  ~Strict() { set_strict(before_); }
  Strict(const Strict&) = delete;
  Strict& operator=(const Strict&) = delete;

 private:
  bool before_ = is_strict();
};

}  // namespace sten::testing
