// Warnings to the user. The programs send them to standard error; a library user may take them.
#pragma once
#include <fmt/format.h>

#include <functional>
#include <string>
#include <utility>

namespace sten {

using LogSink = std::function<void(const std::string&)>;

// Replaces where warnings go (default: "sten: warning: ..." on standard error). Not while another
// thread is warning.
void set_log_sink(LogSink sink);
void log_warning(const std::string& text);

template <class... A>
void warn(fmt::format_string<A...> text, A&&... args) {
  log_warning(fmt::format(text, std::forward<A>(args)...));
}

}  // namespace sten
