// SPDX-License-Identifier: Apache-2.0
// Reports of fallbacks: slower implementations that run where the requested implementation does not
// exist. Every fallback is reported.
#pragma once
#include <string>
#include <string_view>

#include "libsten/core/base/device.h"

namespace sten {

// Strict mode makes a fallback an error. Set by STEN_STRICT=1 in the environment or by
// set_strict().
bool is_strict();
void set_strict(bool strict);

// Warns with `text`, a line on the missing implementation and its replacement, once per process and
// text. Error (check) in strict mode, every time.
void report_fallback(const std::string& text);
// Reports "WHAT on cuda: not implemented; on the CPU".
void report_on_cpu(std::string_view what, Device here);

// Reports that WHAT runs on the CPU, calls f(x on the CPU), and moves the result to x's device.
template <class X, class F>
auto on_cpu(std::string_view what, const X& x, F&& f) {
  const Device here = x.device();
  report_on_cpu(what, here);
  return f(x.to(Device::cpu)).to(here);
}

}  // namespace sten
