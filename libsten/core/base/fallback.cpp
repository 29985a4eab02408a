// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/fallback.h"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>

#include "libsten/core/base/error.h"
#include "libsten/core/base/log.h"

namespace sten {
namespace {

std::atomic<bool>& strict() {
  static std::atomic<bool> value = [] {
    const char* v = std::getenv("STEN_STRICT");
    return v && std::string_view(v) == "1";
  }();
  return value;
}

}  // namespace

bool is_strict() { return strict(); }
void set_strict(bool value) { strict() = value; }

void report_fallback(const std::string& text) {
  static std::mutex lock;
  static auto& said = *new std::set<std::string>;
  if (is_strict()) fail_check("strict: {}", text);
  {
    const std::lock_guard hold(lock);
    if (!said.insert(text).second) return;
  }
  warn("{}", text);
}

void report_on_cpu(std::string_view what, Device here) {
  report_fallback(fmt::format("{} on {}: not implemented; on the CPU", what, name_of(here)));
}

}  // namespace sten
