// SPDX-License-Identifier: Apache-2.0
// Warnings. They go to standard error unless the program sets another sink.
#pragma once
#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>

namespace sten {

using LogSink = std::function<void(const std::string&)>;

// Sets the function that receives warnings (default: prints "sten: warning: ..." to standard
// error). Must not run while another thread warns.
void set_log_sink(LogSink sink);
void log_warning(const std::string& text);

template <class... A>
void warn(fmt::format_string<A...> text, A&&... args) {
  log_warning(fmt::format(text, std::forward<A>(args)...));
}

}  // namespace sten
