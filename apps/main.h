// Common parts of all programs: flags, one-line errors, exit codes.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "libsten/run/rewrite.h"

namespace sten::app {

struct Common {
  bool json = false, quiet = false, verbose = false, force = false, strict = false;
  bool summary = false;  // the total without the rows
  int threads = 0;       // 0: all available
  std::uint64_t seed = 0;
  std::string progress = "auto";
  std::vector<std::string> reports;  // files for the report

  bool show_progress() const;
};

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
  bool has_total = true;   // has --summary
  bool has_chart = false;  // has --report FILE.svg, also as -o
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

// Parses the command line and runs the program; returns its exit code. `define` adds the program's
// options and returns the function to run after parsing.
using Define = std::function<std::function<Outcome()>(CLI::App&, const Common&)>;
// Adds all options to `app`; returns the function to run after parsing.
std::function<Outcome()> define_app(const Program& program, const Define& define, CLI::App& app,
                                    Common& common);
int run(const Program& program, int argc, char** argv, const Define& define);

// --device; `details` are for --help-all and the manual.
void add_device(CLI::App& app, std::string& device, const std::string& details);
// --include, --exclude.
void add_patterns(CLI::App& app, Patterns& patterns);
// Also accepts "90%" for 0.9.
CLI::Option* allow_percent(CLI::Option* option);
// -o and --dry-run.
void add_output(CLI::App& app, OutputOptions& output);
// "PROGRAM: text" on standard error, in one write.
void print_line(const char* program, const std::string& text);

}  // namespace sten::app
