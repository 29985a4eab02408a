// Slower ways that are taken where the one that was asked for does not exist. None is taken in
// silence.
#pragma once
#include <string>
#include <string_view>

#include "libsten/base/device.h"

namespace sten {

// Whether a fallback is an error: STEN_STRICT=1 in the environment, or what a program has set.
bool is_strict();
void set_strict(bool strict);

// One line of what was missing and what is done instead: a warning, the first time that the process
// says it; Error (check), every time, where is_strict().
void report_fallback(const std::string& text);
// "WHAT on cuda: not implemented; on the CPU".
void report_on_cpu(std::string_view what, Device here);

// Reports that, runs f(x on the CPU), and moves the result to x's device.
template <class X, class F>
auto on_cpu(std::string_view what, const X& x, F&& f) {
  const Device here = x.device();
  report_on_cpu(what, here);
  return f(x.to(Device::cpu)).to(here);
}

}  // namespace sten
