// What a process that is interrupted says of its work: one line on standard error.
#pragma once
#include <string>
#include <vector>

namespace sten {

// From here on it says, in the program's name, which of these outputs were written since and which
// were not. Streams are left out. Once in a process, before there are other threads.
void watch_outputs(const std::string& program, const std::vector<std::string>& outputs);

// And this: how much of the work is kept besides, and how to go on. In the place of what was said
// before; from any thread.
void set_resume_hint(const std::string& text);

// Says it, if outputs are watched. Async-signal-safe; ends nothing.
void say_interrupted() noexcept;

}  // namespace sten
