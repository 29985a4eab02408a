// SPDX-License-Identifier: Apache-2.0
// The description of a program for its help, manual and completion.
#pragma once
#include <utility>
#include <vector>

namespace sten::app {

struct Example {
  const char* title;
  const char* command;
};

struct Program {
  const char* name;
  const char* purpose;                 // one line
  const char* example;                 // for the end of --help
  std::vector<Example> examples = {};  // --help prints two, the manual all; each may read
                                       // files that earlier ones wrote
  std::vector<const char*> rare = {};  // options that only --help-all prints
  const char* verbose_adds = "the selected and the skipped tensors";
  bool has_total = true;     // has --summary
  bool is_o_report = false;  // -o is the older name of --report
  // The rank of this process, for programs that mpirun may start; only rank 0 prints.
  int (*rank)() = nullptr;
  // Environment variables besides those of all programs, and their meaning; for the manual.
  std::vector<std::pair<const char*, const char*>> environment = {};
};

struct ExitCode {
  const char* code;
  const char* meaning;
};
inline constexpr ExitCode exit_codes[] = {{"0", "done"},
                                          {"1", "bad input or machine"},
                                          {"2", "usage"},
                                          {"3", "a check did not hold"},
                                          {"130/143", "interrupted"}};

// Groups of options in --help, besides those of a program. The common options come first; batches,
// outputs and general options come last.
namespace groups {
inline constexpr const char* common = "Common options";
inline constexpr const char* tensors = "Tensor selection";
inline constexpr const char* checks = "Checks";
inline constexpr const char* batches = "Multiple inputs";
inline constexpr const char* outputs = "Reports and other outputs";
inline constexpr const char* general = "General options";
}  // namespace groups

}  // namespace sten::app
