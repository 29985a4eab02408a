// SPDX-License-Identifier: Apache-2.0
#include "libsten/core/base/log.h"

#include <cstdio>
#include <mutex>

namespace sten {
namespace {

std::mutex lock;
LogSink& sink() {
  static LogSink s = [](const std::string& text) {
    std::fputs(("sten: warning: " + text + "\n").c_str(), stderr);
  };
  return s;
}

}  // namespace

void set_log_sink(LogSink to) {
  const std::lock_guard hold(lock);
  sink() = std::move(to);
}

void log_warning(const std::string& text) {
  const std::lock_guard hold(lock);
  if (sink()) sink()(text);
}

}  // namespace sten
