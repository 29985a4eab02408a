// Common parts of all programs: flags, one-line errors, exit codes.
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "apps/program.h"
#include "libsten/programs/rewrite/rewrite.h"

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

// Parses the command line and runs the program; returns its exit code. `define` adds the program's
// options and returns the function to run after parsing.
using Define = std::function<std::function<Outcome()>(CLI::App&, const Common&)>;
// Adds all options to `app`; returns the function to run after parsing.
std::function<Outcome()> define_app(const Program& program, const Define& define, CLI::App& app,
                                    Common& common);
int run(const Program& program, int argc, char** argv, const Define& define);

// --device; `details` are for --help-all and the manual.
void add_device(CLI::App& app, std::string& device, const std::string& details);
// The built-in layouts except dense: "masked, bitmask, ...".
std::string sparse_layouts();
// --include, --exclude.
void add_patterns(CLI::App& app, Patterns& patterns);
// Also accepts "90%" for 0.9.
CLI::Option* allow_percent(CLI::Option* option);
// -o and --dry-run.
void add_output(CLI::App& app, OutputOptions& output);
// "PROGRAM: text" on standard error, in one write.
void print_line(const char* program, const std::string& text);

}  // namespace sten::app
