// Message of an interrupted process about its work, as one line on standard error.
#pragma once
#include <string>
#include <vector>

namespace sten {

// Registers outputs, so that the message names those that were written and those that were not.
// Ignores streams. Call once per process, before other threads start.
void watch_outputs(const std::string& program, const std::vector<std::string>& outputs);

// Sets the text on saved work and how to continue, replacing the previous one; thread-safe.
void set_resume_hint(const std::string& text);

// Prints the message, if outputs are watched. Async-signal-safe; does not end the process.
void say_interrupted() noexcept;

}  // namespace sten
