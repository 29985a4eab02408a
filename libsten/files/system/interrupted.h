// SPDX-License-Identifier: Apache-2.0
// Message of an interrupted process about its work, as one line on standard error.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace sten {

// Registers outputs, so that the message names those that were written and those that were not.
// Ignores streams. Call once per process, before other threads start.
void watch_outputs(const std::string& program, const std::vector<std::string>& outputs);

// Sets the text on saved work and how to continue, replacing the previous one; thread-safe.
void set_resume_hint(const std::string& text);

// During its lifetime, an interrupt of this process sends SIGTERM to a process group.
class EndsWithUs {
 public:
  explicit EndsWithUs(pid_t group);
  ~EndsWithUs();
  EndsWithUs(const EndsWithUs&) = delete;
  EndsWithUs& operator=(const EndsWithUs&) = delete;
};

// For programs: SIGINT, SIGTERM and SIGHUP remove unfinished outputs, print the
// message, and end the process with 128 + the signal's number, unless the process was
// started with the signal ignored. SIGPIPE removes unfinished outputs and keeps its default action,
// so that writing to a closed pipe ends the process quietly.
void install_interrupt_handlers();

}  // namespace sten
